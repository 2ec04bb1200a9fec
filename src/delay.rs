//! The delay queue of a lane: what waits for its due time, in a bounded heap ordered by (due, sequence).
//!
//! `next_due` mirrors the earliest due time in an atomic, written only under the heap's lock, so that a worker's look
//! costs one load. The queue knows no timer and no worker: [`DelayQueue::insert`] and [`DelayQueue::pop_due`] answer
//! the due time for which the timer must be armed, and their caller arms it.

mod entries;
#[cfg(all(test, not(any(dockhand_loom, dockhand_shuttle))))]
mod scripts;

use crate::clock::Moment;
use crate::error::RejectReason;
use crate::sync::{AtomicU32, AtomicU64, Mutex, Ordering};
use entries::{Entries, Key};
use std::mem::replace;

/// What the delay queue has to know of an item: one that has ended while it waits is dead weight.
pub(crate) trait DelayItem {
    fn is_dead(&self) -> bool;
    fn mark(&self) -> Option<&HeapMark>;
}

/// Whether an item lies in a heap and was counted as dead there. Written only under the heap's lock.
#[derive(Debug)]
pub(crate) struct HeapMark(AtomicU32);

impl HeapMark {
    const OUT: u32 = 0;
    const IN: u32 = 1;
    const DEAD: u32 = 2;

    pub(crate) fn new() -> Self {
        HeapMark(AtomicU32::new(Self::OUT))
    }

    // Relaxed: the heap's lock orders all of it.
    fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, state: u32) {
        self.0.store(state, Ordering::Relaxed);
    }
}

struct Heap<J> {
    entries: Entries<J>,
    /// How many of the entries have ended.
    dead: usize,
    /// Places of entries that are told before they are taken in.
    reserved: usize,
    /// It was swept: nothing is taken in any more.
    is_ended: bool,
}

/// What a burial has moved out, and what is the next due time now.
pub(crate) struct Buried<J> {
    pub(crate) moved_out: Vec<J>,
    pub(crate) next: Moment,
}

fn is_buried<J: DelayItem>(item: &J) -> bool {
    item.mark().is_some_and(|mark| mark.get() == HeapMark::DEAD)
}

impl<J: DelayItem> Heap<J> {
    fn compact(&mut self, moved_out: &mut Vec<J>) {
        let dead = self.entries.take_out(is_buried);
        dead.iter().for_each(|item| self.forget(item));
        moved_out.extend(dead);
    }

    /// Moves out what is dead at the top, so that the next due time is that of a living entry.
    fn uncover(&mut self, moved_out: &mut Vec<J>) {
        while self.entries.peek().is_some_and(|first| self.is_buried(first)) {
            let Some((_, item)) = self.entries.pop() else { return };
            self.forget(&item);
            moved_out.push(item);
        }
    }

    fn is_buried(&self, key: Key) -> bool {
        self.entries.item(key).is_some_and(is_buried)
    }

    fn living(&self) -> usize {
        self.entries.len() - self.dead + self.reserved
    }

    /// The item leaves the heap.
    fn forget(&mut self, item: &J) {
        if let Some(mark) = item.mark() {
            if mark.get() == HeapMark::DEAD {
                self.dead -= 1;
            }
            mark.set(HeapMark::OUT);
        }
    }
}

/// Why an entry was not taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DelayRefusal {
    Full,
    /// The pool has ended.
    Ended,
    /// It has ended itself in the meantime.
    Dead,
}

impl From<DelayRefusal> for RejectReason {
    fn from(refusal: DelayRefusal) -> Self {
        match refusal {
            DelayRefusal::Full => RejectReason::DelayFull,
            DelayRefusal::Ended | DelayRefusal::Dead => RejectReason::Closed,
        }
    }
}

/// An entry whose time has come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Due<J> {
    pub(crate) item: J,
    pub(crate) due: Moment,
    /// The due time of the entry behind it, [`Moment::NEVER`] if there is none.
    pub(crate) next: Moment,
}

pub(crate) struct DelayQueue<J> {
    heap: Mutex<Heap<J>>,
    next_due: AtomicU64,
    capacity: usize,
}

impl<J: DelayItem> DelayQueue<J> {
    pub(crate) fn new(capacity: usize) -> Self {
        DelayQueue {
            heap: Mutex::new(Heap { entries: Entries::new(), dead: 0, reserved: 0, is_ended: false }),
            next_due: AtomicU64::new(Moment::NEVER.nanos()),
            capacity,
        }
    }

    /// Takes an entry in. If it is the earliest now, the caller arms the timer for the due time in the answer.
    pub(crate) fn insert(&self, due: Moment, item: J) -> Result<Option<Moment>, (J, DelayRefusal)> {
        let mut heap = self.heap.lock();
        if heap.is_ended {
            return Err((item, DelayRefusal::Ended));
        }
        if item.is_dead() {
            return Err((item, DelayRefusal::Dead));
        }
        if heap.living() >= self.capacity {
            return Err((item, DelayRefusal::Full));
        }
        Ok(self.take_in(&mut heap, due, item))
    }

    /// Keeps a place for an entry. It counts as waiting.
    pub(crate) fn reserve(&self) -> Result<(), DelayRefusal> {
        let mut heap = self.heap.lock();
        if heap.is_ended {
            return Err(DelayRefusal::Ended);
        }
        if heap.living() >= self.capacity {
            return Err(DelayRefusal::Full);
        }
        heap.reserved += 1;
        Ok(())
    }

    /// Gives a reserved place up.
    pub(crate) fn unreserve(&self) {
        self.heap.lock().reserved -= 1;
    }

    /// As [`DelayQueue::insert`], into a reserved place.
    pub(crate) fn insert_reserved(&self, due: Moment, item: J) -> Result<Option<Moment>, (J, DelayRefusal)> {
        let mut heap = self.heap.lock();
        heap.reserved -= 1;
        if heap.is_ended {
            return Err((item, DelayRefusal::Ended));
        }
        if item.is_dead() {
            return Err((item, DelayRefusal::Dead));
        }
        Ok(self.take_in(&mut heap, due, item))
    }

    fn take_in(&self, heap: &mut Heap<J>, due: Moment, item: J) -> Option<Moment> {
        if let Some(mark) = item.mark() {
            mark.set(HeapMark::IN);
        }
        let key = heap.entries.push(due, item);
        let earliest = self.publish(heap);
        let is_earliest = heap.entries.peek() == Some(key);
        is_earliest.then_some(earliest)
    }

    /// Takes the earliest entry out if it is due. The caller arms the timer for the one behind it.
    pub(crate) fn pop_due(&self, now: Moment) -> Option<Due<J>> {
        let mut heap = self.heap.lock();
        if heap.entries.peek()?.due > now {
            return None;
        }
        let (due, item) = heap.entries.pop()?;
        heap.forget(&item);
        let next = self.publish(&heap);
        Some(Due { item, due, next })
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

    /// The earliest due time that is later than `now`, however many are due already. Costs a look at every entry while
    /// one is due. What was dead at the top is moved out, for the caller to drop.
    pub(crate) fn next_due_after(&self, now: Moment) -> Buried<J> {
        let mut heap = self.heap.lock();
        let mut moved_out = Vec::new();
        heap.uncover(&mut moved_out);
        let next = self.publish(&heap);
        if next > now {
            return Buried { moved_out, next };
        }
        let later = heap.entries.keys().filter(|key| key.due > now && !heap.is_buried(*key));
        let next = later.map(|key| key.due).min().unwrap_or(Moment::NEVER);
        Buried { moved_out, next }
    }

    /// How many are due, counted up to `most`. Costs what it counts.
    pub(crate) fn due_by(&self, now: Moment, most: usize) -> usize {
        if self.next_due() > now {
            return 0;
        }
        self.heap.lock().entries.due_by(now, most)
    }

    /// How many wait; those that have ended are not counted.
    pub(crate) fn len(&self) -> usize {
        let heap = self.heap.lock();
        heap.entries.len() - heap.dead
    }

    /// Nothing waits, and no place is kept.
    pub(crate) fn is_empty(&self) -> bool {
        self.heap.lock().living() == 0
    }

    /// The item of this mark has ended. If it lies here it is dead weight: at the top it is moved out, and so is all of it
    /// once more than half of the heap is dead. What was moved out is dropped by the caller, where user code may run; and
    /// the caller arms the timer for the entry that is uncovered.
    pub(crate) fn bury(&self, mark: &HeapMark) -> Buried<J> {
        let mut heap = self.heap.lock();
        let mut moved_out = Vec::new();
        if mark.get() == HeapMark::IN {
            mark.set(HeapMark::DEAD);
            heap.dead += 1;
            // First, since it looks at no more than it moves out.
            heap.uncover(&mut moved_out);
            if heap.dead * 2 > heap.entries.len() {
                heap.compact(&mut moved_out);
            }
        }
        let next = self.publish(&heap);
        Buried { moved_out, next }
    }

    /// Refuses everything from now on and gives back what waits, with its due time, earliest first. The caller drops
    /// the items where user code may run.
    pub(crate) fn end_and_sweep(&self) -> Vec<(Moment, J)> {
        let mut heap = self.heap.lock();
        heap.is_ended = true;
        let entries = replace(&mut heap.entries, Entries::new());
        entries.items().for_each(|item| heap.forget(item));
        self.publish(&heap);
        drop(heap);
        entries.into_sorted()
    }
}

#[cfg(all(test, not(dockhand_loom)))]
mod tests {
    use super::*;
    use std::time::Duration;

    macro_rules! immortal {
        ($($item:ty),*) => {$(
            impl DelayItem for $item {
                fn is_dead(&self) -> bool {
                    false
                }

                fn mark(&self) -> Option<&HeapMark> {
                    None
                }
            }
        )*};
    }

    immortal!(char, i32, u64, ());

    struct Mortal(std::sync::Arc<HeapMark>, std::sync::Arc<std::sync::atomic::AtomicBool>);

    impl DelayItem for Mortal {
        fn is_dead(&self) -> bool {
            self.1.load(Ordering::Relaxed)
        }

        fn mark(&self) -> Option<&HeapMark> {
            Some(&self.0)
        }
    }

    #[test]
    fn what_has_ended_gives_its_place_up_and_is_moved_out() {
        let queue = DelayQueue::new(4);
        let items: Vec<_> =
            (0..4).map(|_| (std::sync::Arc::new(HeapMark::new()), Default::default())).collect();
        for (due, (mark, dead)) in items.iter().enumerate() {
            let item = Mortal(std::sync::Arc::clone(mark), std::sync::Arc::clone(dead));
            assert!(queue.insert(at(due as u64), item).is_ok());
        }
        let bury = |n: usize| {
            let buried = queue.bury(&items[n].0);
            (buried.moved_out.len(), buried.next)
        };
        assert_eq!(bury(2), (0, at(0)), "one of four, in the middle");
        assert_eq!(bury(2), (0, at(0)), "counted twice");
        assert_eq!(queue.len(), 3);
        assert_eq!(bury(0), (1, at(1)), "at the top");
        assert_eq!(bury(1), (2, at(3)), "more than half");
        assert_eq!((queue.len(), queue.next_due()), (1, at(3)));
        items[3].1.store(true, Ordering::Relaxed);
        let again = Mortal(std::sync::Arc::new(HeapMark::new()), std::sync::Arc::clone(&items[3].1));
        assert!(matches!(queue.insert(at(9), again), Err((_, DelayRefusal::Dead))));
    }

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
    fn what_comes_after_the_end_is_refused() {
        let queue = DelayQueue::new(10);
        queue.insert(at(20), 1).unwrap();
        assert_eq!(queue.end_and_sweep(), [(at(20), 1)]);
        assert_eq!(queue.reserve(), Err(DelayRefusal::Ended));
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
