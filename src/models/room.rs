//! `submit_timeout`: waiting for room in a full lane.
//!
//! Left out: deadlines as such; a time that is over is a flag that a model sets.

use super::{Ring, check, join, spawn};
use crate::room::{Room, Waited};
use crate::sleep::Sleep;
use crate::sync::{AtomicBool, Condvar, Mutex, Ordering, fence};
use loom::thread::JoinHandle;
use std::sync::Arc;

/// A full lane of one place.
struct Lane {
    queue: Ring,
    room: Room,
    sleep: Sleep,
    /// The time of task 1 is over.
    is_over: AtomicBool,
    ended: Mutex<Vec<u64>>,
    one_ended: Condvar,
}

impl Lane {
    fn new() -> Arc<Self> {
        let lane = Lane {
            queue: Ring::new(1),
            room: Room::new(),
            sleep: Sleep::new(0),
            is_over: AtomicBool::new(false),
            ended: Mutex::new(Vec::new()),
            one_ended: Condvar::default(),
        };
        lane.queue.push(0).expect("there is room");
        Arc::new(lane)
    }

    fn submit(&self, task: u64) -> Waited<u64> {
        let waited = self.submit_timeout(task);
        self.ended.lock().push(task);
        self.one_ended.notify_one();
        waited
    }

    /// `submitter.rs`.
    fn submit_timeout(&self, task: u64) -> Waited<u64> {
        if self.queue.push(task).is_ok() {
            return Waited::Pushed;
        }
        self.room.wait_and_push(
            task,
            None,
            || task == 1 && self.is_over.load(Ordering::Relaxed),
            || self.sleep.state().is_closed(),
            |task| self.queue.push(task),
        )
    }

    fn first_to_end(&self) -> u64 {
        let mut ended = self.ended.lock();
        while ended.is_empty() {
            ended = self.one_ended.wait(ended);
        }
        ended[0]
    }

    /// `worker.rs`, `step`.
    fn take(&self) -> Option<u64> {
        let task = self.queue.pop()?;
        fence(Ordering::SeqCst);
        self.room.was_freed();
        Some(task)
    }

    /// `shutdown.rs`, `close`.
    fn close(&self) {
        self.sleep.close();
        self.room.close();
    }
}

fn waiter(lane: &Arc<Lane>, task: u64) -> JoinHandle<Waited<u64>> {
    spawn(lane, move |lane| lane.submit(task))
}

/// A waiter and a take: the waiter gets the place.
#[test]
fn a_waiter_sees_the_place_that_a_take_leaves() {
    check(3, || {
        let lane = Lane::new();
        let one = waiter(&lane, 1);
        assert_eq!(lane.take(), Some(0));
        assert_eq!(join(one), Waited::Pushed);
    });
}

/// Two waiters and two takes: none of the two notifications is lost.
#[test]
fn two_waiters_get_the_places_of_two_takes() {
    check(3, || {
        let lane = Lane::new();
        let waiters = [waiter(&lane, 1), waiter(&lane, 2)];
        assert_eq!(lane.take(), Some(0));
        let first = lane.first_to_end();
        assert_eq!(lane.take(), Some(first));
        for waiter in waiters {
            assert_eq!(join(waiter), Waited::Pushed);
        }
    });
}

/// A waiter and a close: the task comes back.
#[test]
fn a_close_ends_the_wait() {
    check(3, || {
        let lane = Lane::new();
        let one = waiter(&lane, 1);
        lane.close();
        assert_eq!(join(one), Waited::Closed(1));
    });
}

/// The one notification for a place may go to the waiter whose time is over. It takes the place, or leaves it to the
/// other one.
#[test]
fn a_waiter_whose_time_is_over_does_not_take_the_place_of_another_with_it() {
    check(3, || {
        let lane = Lane::new();
        let (one, two) = (waiter(&lane, 1), waiter(&lane, 2));
        lane.is_over.store(true, Ordering::Relaxed);
        assert_eq!(lane.take(), Some(0));
        if lane.first_to_end() == 2 {
            // Task 1 would be woken by its deadline.
            lane.room.close();
            assert_eq!(join(two), Waited::Pushed);
            assert_eq!(join(one), Waited::TimedOut(1));
            return;
        }
        if join(one) == Waited::Pushed {
            assert_eq!(lane.take(), Some(1));
        }
        assert_eq!(join(two), Waited::Pushed);
    });
}
