//! The stand-in for `ArrayQueue`, which loom cannot see into.

use crate::sync::{AtomicU64, AtomicUsize, Ordering};

/// A bounded queue of cells that are used once.
///
/// Weaker than the original: "empty" and "full" are found by loads without the sequentially consistent fences that
/// crossbeam happens to have. What holds on it does not rest on those.
pub(super) struct Ring {
    capacity: usize,
    head: AtomicUsize,
    tail: AtomicUsize,
    cells: [AtomicU64; Ring::CELLS],
}

impl Ring {
    const CELLS: usize = 4;
    const EMPTY: u64 = u64::MAX;

    pub(super) fn new(capacity: usize) -> Self {
        Ring {
            capacity,
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(0),
            cells: std::array::from_fn(|_| AtomicU64::new(Ring::EMPTY)),
        }
    }

    pub(super) fn push(&self, task: u64) -> Result<(), u64> {
        let mut tail = self.tail.load(Ordering::Relaxed);
        loop {
            if tail - self.head.load(Ordering::Acquire).min(tail) >= self.capacity {
                let now = self.tail.load(Ordering::Relaxed);
                if now == tail {
                    return Err(task);
                }
                tail = now;
                continue;
            }
            match self.tail.compare_exchange(tail, tail + 1, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => tail = now,
            }
        }
        self.cells[tail].store(task, Ordering::Release);
        Ok(())
    }

    pub(super) fn pop(&self) -> Option<u64> {
        // Ordering: Acquire, as crossbeam's fence on this path: who finds an element gone sees what came before the pop
        // that took it.
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            let task = self.cells[head].load(Ordering::Acquire);
            if task == Ring::EMPTY {
                return None;
            }
            match self.head.compare_exchange(head, head + 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(task),
                Err(now) => head = now,
            }
        }
    }

    /// In two steps, unlike the original: no model has a second producer while one displaces.
    pub(super) fn force_push(&self, task: u64) -> Option<u64> {
        let refused = self.push(task).err()?;
        let displaced = self.pop();
        self.push(refused).expect("room for one was made");
        displaced
    }

    pub(super) fn is_empty(&self) -> bool {
        let head = self.head.load(Ordering::Acquire);
        self.cells[head].load(Ordering::Acquire) == Ring::EMPTY
    }
}
