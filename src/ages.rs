//! The age of the oldest queued task, for a pool that times every task.
//!
//! The queue cannot be looked into, so the times of its tasks are kept beside it: a ring of as many cells, with a count
//! of those that came and one of those that left. Pushes and their times may change places by a few among threads that
//! submit at the same moment; an age is off by as much.

use crate::clock::Moment;
use crate::sync::{AtomicU64, Ordering};
use crossbeam::utils::CachePadded;

pub(crate) struct Ages {
    cells: Box<[AtomicU64]>,
    came: CachePadded<AtomicU64>,
    left: CachePadded<AtomicU64>,
}

impl Ages {
    pub(crate) fn new(capacity: usize) -> Self {
        Ages {
            cells: (0..capacity).map(|_| AtomicU64::new(Moment::NEVER.nanos())).collect(),
            came: CachePadded::new(AtomicU64::new(0)),
            left: CachePadded::new(AtomicU64::new(0)),
        }
    }

    fn cell(&self, ticket: u64) -> &AtomicU64 {
        &self.cells[(ticket % self.cells.len() as u64) as usize]
    }

    // Relaxed: numbers for a reader, who may be off.
    pub(crate) fn came(&self, at: Moment) {
        let ticket = self.came.fetch_add(1, Ordering::Relaxed);
        self.cell(ticket).store(at.nanos(), Ordering::Relaxed);
    }

    pub(crate) fn left(&self) {
        let ticket = self.left.fetch_add(1, Ordering::Relaxed);
        // The cell's next time may be told a little after its count; nobody is to see this one in between.
        self.cell(ticket).store(Moment::NEVER.nanos(), Ordering::Relaxed);
    }

    /// When the oldest one came.
    pub(crate) fn oldest(&self) -> Option<Moment> {
        let left = self.left.load(Ordering::Relaxed);
        let waits = left < self.came.load(Ordering::Relaxed);
        let oldest = Moment::from_nanos(self.cell(left).load(Ordering::Relaxed));
        (waits && oldest != Moment::NEVER).then_some(oldest)
    }
}

#[cfg(all(test, not(dockhand_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_the_one_that_came_first_and_has_not_left() {
        let ages = Ages::new(2);
        assert_eq!(ages.oldest(), None);
        for round in 0..5 {
            let (one, two) = (Moment::from_nanos(round), Moment::from_nanos(round + 1));
            ages.came(one);
            ages.came(two);
            assert_eq!(ages.oldest(), Some(one));
            ages.left();
            assert_eq!(ages.oldest(), Some(two));
            ages.left();
            assert_eq!(ages.oldest(), None);
        }
    }
}
