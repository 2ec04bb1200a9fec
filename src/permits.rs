//! The limit of a lane: how many attempts may run at a time.
//!
//! Limit and use share **one word**, changed by compare-and-swap. With two words, lowering the limit to 0 and a start
//! could cross: a pause would be answered, with nothing in use, and an attempt would start after it.
//!
//! A permit is taken **before** the pop, so what a limit holds back stays in its queue: its place, the order and the
//! capacity are exact for free. Who has taken a permit and popped nothing gives it back, fences and looks at the lane
//! again, since a submit that found no free permit has woken nobody:
//!
//! ```text
//! submit                         worker that found the lane empty    whoever returns a permit or raises the limit
//!   push; fence                    use -= 1; fence                     change the word; fence
//!   a permit is free?              the lane has a task? → again        the lane has a task? → the wake rule
//!     yes → the wake rule
//! ```
//!
//! Of the submit's fence and the other one comes first: either the submit sees the free permit, or the other sees its
//! task. A worker that returns a permit after an attempt does not wake: it counts as searching and looks itself.

use crate::sync::{AtomicU64, Ordering};

/// Limit in the upper half, use in the lower.
pub(crate) struct Permits(AtomicU64);

const USE_BITS: u32 = 32;
const USE: u64 = u32::MAX as u64;

fn limit_of(word: u64) -> u64 {
    word >> USE_BITS
}

fn with_limit(word: u64, limit: usize) -> u64 {
    let limit = u32::try_from(limit).unwrap_or(u32::MAX);
    u64::from(limit) << USE_BITS | (word & USE)
}

fn has_room(word: u64) -> bool {
    word & USE < limit_of(word)
}

impl Permits {
    pub(crate) fn new(limit: usize) -> Self {
        Permits(AtomicU64::new(with_limit(0, limit)))
    }

    #[inline]
    pub(crate) fn try_acquire(&self) -> bool {
        // Ordering: AcqRel keeps the uses of a permit one after another; the wakes rest on the fences above.
        self.0
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |word| has_room(word).then_some(word + 1))
            .is_ok()
    }

    /// Gives one back. The caller fences and looks at the lane, or looks as a searching worker.
    pub(crate) fn release(&self) {
        let before = self.0.fetch_sub(1, Ordering::AcqRel);
        debug_assert!(before & USE > 0, "a permit was given back twice");
    }

    /// Changes the limit. What runs is not interrupted: below its use, nothing starts until the use is below the limit.
    pub(crate) fn set_limit(&self, limit: usize) {
        let _ =
            self.0.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |word| Some(with_limit(word, limit)));
    }

    /// Whether an attempt could start. A look that orders nothing: the callers have fenced.
    #[inline]
    pub(crate) fn is_free(&self) -> bool {
        has_room(self.0.load(Ordering::Relaxed))
    }

    pub(crate) fn limit(&self) -> usize {
        limit_of(self.0.load(Ordering::Relaxed)) as usize
    }

    pub(crate) fn in_use(&self) -> usize {
        (self.0.load(Ordering::Acquire) & USE) as usize
    }
}

#[cfg(all(test, not(dockhand_loom)))]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_the_limit_are_given_out() {
        let permits = Permits::new(2);
        assert!(permits.try_acquire() && permits.try_acquire());
        assert!(!permits.try_acquire());
        permits.release();
        assert!(permits.try_acquire());
        assert_eq!(permits.in_use(), 2);
    }

    #[test]
    fn below_its_use_a_lowered_limit_gives_nothing_out() {
        let permits = Permits::new(3);
        (0..3).for_each(|_| assert!(permits.try_acquire()));
        permits.set_limit(1);
        permits.release();
        permits.release();
        assert!(!permits.try_acquire(), "one is still in use");
        permits.release();
        assert!(permits.try_acquire());
    }

    #[test]
    fn a_limit_beyond_the_word_is_the_largest_it_holds() {
        let permits = Permits::new(usize::MAX);
        assert_eq!(permits.limit(), u32::MAX as usize);
        assert!(permits.try_acquire());
        permits.set_limit(0);
        assert_eq!((permits.limit(), permits.in_use()), (0, 1));
    }
}
