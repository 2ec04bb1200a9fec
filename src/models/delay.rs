//! Dead weight in a delay queue: what is cancelled there, or on its way there, keeps no place and hides nothing.
//!
//! Left out: who arms the timer, which is in `timer`; the order of what is due, in the unit tests of `delay.rs`.

use super::tracked::{Delayed, Tracked};
use super::{check, join, spawn};
use crate::clock::Moment;
use crate::delay::DelayQueue;
use crate::stage::Stage;
use crate::task::Outcome;
use std::sync::Arc;

fn at(nanos: u64) -> Moment {
    Moment::from_nanos(nanos)
}

fn entry(task: u64, tracked: &Arc<Tracked>) -> Delayed {
    Delayed { task, tracked: Some(Arc::clone(tracked)) }
}

/// `handle.rs`, `cancel`, of a task that nobody starts.
fn cancel(queue: &DelayQueue<Delayed>, tracked: &Tracked) {
    assert!(tracked.stage.end_waiting(Outcome::Cancelled).is_ok());
    drop(queue.bury(&tracked.mark));
}

/// The retry is refused as dead, or lies in the heap before its canceller looks there.
#[test]
fn what_is_cancelled_beside_its_insert_is_not_left_in_the_heap() {
    check(3, || {
        let queue = Arc::new(DelayQueue::new(2));
        let tracked = Tracked::new(Stage::Retrying);
        queue.reserve().expect("there is room");
        let canceller = {
            let tracked = Arc::clone(&tracked);
            spawn(&queue, move |queue| cancel(queue, &tracked))
        };
        let _taken_or_refused = queue.insert_reserved(at(1), entry(0, &tracked));
        join(canceller);
        assert!(queue.is_empty());
        assert_eq!((queue.len(), queue.next_due()), (0, Moment::NEVER));
        assert!(queue.pop_due(at(1)).is_none(), "it is dead, and was not told so");
    });
}

/// As above, of a delayed submit.
#[test]
fn what_is_cancelled_beside_a_take_is_counted_off_once() {
    check(3, || {
        let queue = Arc::new(DelayQueue::new(1));
        let tracked = Tracked::new(Stage::Delayed);
        assert!(queue.insert(at(1), entry(0, &tracked)).is_ok());
        let canceller = {
            let tracked = Arc::clone(&tracked);
            spawn(&queue, move |queue| cancel(queue, &tracked))
        };
        let _taken_or_buried = queue.pop_due(at(1));
        join(canceller);
        assert_eq!((queue.len(), queue.next_due()), (0, Moment::NEVER));
        assert!(queue.insert(at(2), 1.into()).is_ok(), "there is room for one");
        assert_eq!(queue.pop_due(at(2)).map(|due| due.item.task), Some(1));
    });
}

/// Two of three are cancelled: more than half of the heap is dead, and the one that lives is kept.
#[test]
fn what_two_cancels_bury_is_moved_out_and_the_living_stay() {
    check(3, || {
        let queue = Arc::new(DelayQueue::new(3));
        let cancelled = [Tracked::new(Stage::Delayed), Tracked::new(Stage::Delayed)];
        let living = Tracked::new(Stage::Delayed);
        for (task, tracked) in [(0, &living), (1, &cancelled[0]), (2, &cancelled[1])] {
            assert!(queue.insert(at(1 + task), entry(task, tracked)).is_ok());
        }
        let [one, two] = cancelled;
        let canceller = spawn(&queue, move |queue| cancel(queue, &one));
        cancel(&queue, &two);
        join(canceller);
        assert_eq!((queue.len(), queue.next_due()), (1, at(1)));
        let taken = queue.pop_due(at(9)).expect("it lives");
        assert_eq!((taken.item.task, taken.next), (0, Moment::NEVER), "the dead are moved out");
        assert!(queue.is_empty());
    });
}
