//! Chance, from a generator of the pool's own: that of a thread may be gone where a destructor of a thread-local runs a task.

use crate::sync::Mutex;
use rand::rngs::{SmallRng, SysRng};
use rand::{RngExt, SeedableRng};
use std::process;

pub(crate) struct Chance(Mutex<SmallRng>);

impl Chance {
    /// With a seed from the system; where it has none to give, with one that differs from process to process.
    pub(crate) fn new() -> Self {
        let seeded = SmallRng::try_from_rng(&mut SysRng);
        Chance(Mutex::new(seeded.unwrap_or_else(|_| SmallRng::seed_from_u64(process::id().into()))))
    }

    /// Even in `[0, 1)`.
    pub(crate) fn draw(&self) -> f64 {
        self.0.lock().random()
    }
}

#[cfg(all(test, not(any(dockhand_loom, dockhand_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn draws_are_even_and_differ_from_pool_to_pool() {
        let (one, other) = (Chance::new(), Chance::new());
        let draws: Vec<f64> = (0..10_000).map(|_| one.draw()).collect();
        assert!(draws.iter().all(|draw| (0.0..1.0).contains(draw)));
        for tenth in 0..10 {
            let low = f64::from(tenth) / 10.0;
            let inside = draws.iter().filter(|draw| (low..low + 0.1).contains(draw)).count();
            // Nine standard deviations.
            assert!((730..1270).contains(&inside), "{inside} of 10,000 in the tenth from {low}");
        }
        assert!((0..10).any(|at| draws[at] != other.draw()));
    }
}
