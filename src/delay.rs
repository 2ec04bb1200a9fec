//! The delay queue of a lane: what waits for its due time, in a bounded heap ordered by (due, sequence).
//!
//! `next_due` mirrors the earliest due time in an atomic, written only under the heap's lock, so that a worker's look
//! costs one load. The queue knows no timer and no worker: [`DelayQueue::insert`] and [`DelayQueue::pop_due`] answer
//! the due time for which the timer must be armed, and their caller arms it.

use crate::clock::Moment;
use crate::sync::{AtomicU64, Mutex, Ordering};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

struct Entry<J> {
    due: Moment,
    sequence: u64,
    item: J,
}

impl<J> Entry<J> {
    fn key(&self) -> Reverse<(Moment, u64)> {
        Reverse((self.due, self.sequence))
    }
}

impl<J> PartialEq for Entry<J> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<J> Eq for Entry<J> {}

impl<J> PartialOrd for Entry<J> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<J> Ord for Entry<J> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

struct Heap<J> {
    entries: BinaryHeap<Entry<J>>,
    sequence: u64,
    /// Nothing that is due later is taken in: the end of the shutdown's window, the start once it is over.
    end: Moment,
}

/// Why an entry was not taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DelayRefusal {
    Full,
    /// The pool's window ends before it would be due.
    Ended,
}

/// An entry whose time has come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Due<J> {
    pub(crate) item: J,
    /// The due time of the entry behind it, [`Moment::NEVER`] if there is none.
    pub(crate) next: Moment,
}

pub(crate) struct DelayQueue<J> {
    heap: Mutex<Heap<J>>,
    next_due: AtomicU64,
    capacity: usize,
}

impl<J> DelayQueue<J> {
    pub(crate) fn new(capacity: usize) -> Self {
        DelayQueue {
            heap: Mutex::new(Heap { entries: BinaryHeap::new(), sequence: 0, end: Moment::NEVER }),
            next_due: AtomicU64::new(Moment::NEVER.nanos()),
            capacity,
        }
    }

    /// Takes an entry in. If it is the earliest now, the caller arms the timer for the due time in the answer.
    pub(crate) fn insert(&self, due: Moment, item: J) -> Result<Option<Moment>, (J, DelayRefusal)> {
        let mut heap = self.heap.lock();
        if due > heap.end || heap.end == Moment::START {
            return Err((item, DelayRefusal::Ended));
        }
        if heap.entries.len() >= self.capacity {
            return Err((item, DelayRefusal::Full));
        }
        let sequence = heap.sequence;
        heap.sequence += 1;
        heap.entries.push(Entry { due, sequence, item });
        let earliest = self.publish(&heap);
        let is_earliest = heap.entries.peek().is_some_and(|first| first.sequence == sequence);
        Ok(is_earliest.then_some(earliest))
    }

    /// Takes the earliest entry out if it is due. The caller arms the timer for the one behind it.
    pub(crate) fn pop_due(&self, now: Moment) -> Option<Due<J>> {
        let mut heap = self.heap.lock();
        if heap.entries.peek()?.due > now {
            return None;
        }
        let Entry { item, .. } = heap.entries.pop()?;
        let next = self.publish(&heap);
        Some(Due { item, next })
    }

    fn publish(&self, heap: &Heap<J>) -> Moment {
        let next = heap.entries.peek().map_or(Moment::NEVER, |first| first.due);
        // Ordering: Release, read by `next_due`; the wakes rest on the fences of timer and sleeper.
        self.next_due.store(next.nanos(), Ordering::Release);
        next
    }

    /// The earliest due time; [`Moment::NEVER`] if nothing waits.
    pub(crate) fn next_due(&self) -> Moment {
        // Ordering: Acquire, partner of the store in `publish`.
        Moment::from_nanos(self.next_due.load(Ordering::Acquire))
    }

    pub(crate) fn len(&self) -> usize {
        self.heap.lock().entries.len()
    }

    /// Refuses from now on what would be due after `end`; everything, if that is the start.
    pub(crate) fn end_at(&self, end: Moment) {
        let mut heap = self.heap.lock();
        heap.end = heap.end.min(end);
    }

    /// Refuses everything from now on and gives back what waits, with its due time, earliest first. The caller drops
    /// the items where user code may run.
    pub(crate) fn end_and_sweep(&self) -> Vec<(Moment, J)> {
        let mut heap = self.heap.lock();
        heap.end = Moment::START;
        let entries = std::mem::take(&mut heap.entries);
        self.publish(&heap);
        drop(heap);
        let sorted = entries.into_sorted_vec().into_iter().rev();
        sorted.map(|entry| (entry.due, entry.item)).collect()
    }
}

#[cfg(all(test, not(dockhand_loom)))]
mod tests {
    use super::*;
    use std::time::Duration;

    fn at(millis: u64) -> Moment {
        Moment::START.after(Duration::from_millis(millis))
    }

    #[test]
    fn entries_come_out_by_due_time_and_ties_in_the_order_they_came() {
        let queue = DelayQueue::new(10);
        for (due, item) in [(30, 'd'), (10, 'a'), (20, 'b'), (20, 'c')] {
            queue.insert(at(due), item).unwrap();
        }
        let mut out = Vec::new();
        while let Some(due) = queue.pop_due(at(30)) {
            out.push(due.item);
        }
        assert_eq!(out, ['a', 'b', 'c', 'd']);
    }

    #[test]
    fn nothing_comes_out_early() {
        let queue = DelayQueue::new(1);
        queue.insert(at(10), ()).unwrap();
        let before = Moment::from_nanos(at(10).nanos() - 1);
        assert_eq!(queue.pop_due(before), None);
        assert!(queue.pop_due(at(10)).is_some());
    }

    #[test]
    fn the_answer_names_the_time_to_arm_for() {
        let queue = DelayQueue::new(10);
        assert_eq!(queue.insert(at(20), 'b'), Ok(Some(at(20))));
        assert_eq!(queue.insert(at(30), 'c'), Ok(None));
        assert_eq!(queue.insert(at(10), 'a'), Ok(Some(at(10))));
        assert_eq!(queue.insert(at(10), 'x'), Ok(None), "the tie comes second");
        let first = queue.pop_due(at(10)).unwrap();
        assert_eq!((first.item, first.next), ('a', at(10)));
        assert_eq!(queue.next_due(), at(10));
    }

    #[test]
    fn a_full_queue_gives_the_item_back() {
        let queue = DelayQueue::new(1);
        queue.insert(at(1), 1).unwrap();
        assert_eq!(queue.insert(at(1), 2), Err((2, DelayRefusal::Full)));
    }

    #[test]
    fn what_is_due_after_the_end_is_refused() {
        let queue = DelayQueue::new(10);
        queue.end_at(at(20));
        queue.end_at(at(50));
        queue.insert(at(20), 1).unwrap();
        assert_eq!(queue.insert(at(21), 2), Err((2, DelayRefusal::Ended)));
        assert_eq!(queue.end_and_sweep(), [(at(20), 1)]);
        assert_eq!(queue.insert(Moment::START, 3), Err((3, DelayRefusal::Ended)));
        assert_eq!(queue.next_due(), Moment::NEVER);
    }

    #[test]
    fn a_sweep_gives_everything_back_in_order() {
        let queue = DelayQueue::new(10);
        for due in [3, 1, 2] {
            queue.insert(at(due), due).unwrap();
        }
        let swept: Vec<u64> = queue.end_and_sweep().into_iter().map(|(_, item)| item).collect();
        assert_eq!(swept, [1, 2, 3]);
        assert_eq!(queue.len(), 0);
    }
}
