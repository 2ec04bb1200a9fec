//! A thread's script: drawn from the seed and the number of the thread, it is the same each time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use fastrand::Rng;

use crate::acts::{self, Act, Scene};
use crate::closing;
use crate::closures;
use crate::findings;
use crate::hands::Hands;
use crate::panics::discard;
use crate::pool::Pool;
use crate::settings;
use crate::watchdog::Beat;
use crate::yard::Yard;

/// One step of a script, with the dice for whatever it does: how the step before it went does not matter.
#[derive(Debug, PartialEq)]
enum Step {
    /// A new pool takes the place of another, which is ended.
    Replace,
    Closures,
    Act(Act),
}

pub(crate) struct Script {
    rng: Rng,
}

impl Script {
    pub(crate) fn new(seed: u64, thread: usize) -> Self {
        Script { rng: Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ thread as u64) }
    }

    fn next(&mut self, places: usize) -> (Step, usize, Rng) {
        let mut dice = Rng::with_seed(self.rng.u64(..));
        let step = match dice.u32(..2000) {
            0..4 => Step::Replace,
            4 => Step::Closures,
            _ => Step::Act(Act::outside(&mut dice)),
        };
        (step, dice.usize(..places), dice)
    }
}

/// Plays a script until the time is over.
pub(crate) fn play(
    mut script: Script,
    yard: &Yard,
    workers: Option<usize>,
    until: Instant,
    beat: &Arc<Beat>,
) {
    beat.adopt();
    let mut hands = Hands::default();
    while Instant::now() < until {
        let (step, place, mut dice) = script.next(yard.places());
        let step = if is_spent(yard, place, &mut dice) { Step::Replace } else { step };
        match step {
            Step::Replace => {
                beat.begins("replace", place);
                guarded("a build", || {
                    let pool = settings::any_pool(&mut dice, workers);
                    let old = yard.put(place, pool);
                    end(old, &mut dice);
                });
            }
            Step::Closures => {
                beat.begins("closures", place);
                guarded("closures", || closures::live_and_die(&mut dice, workers));
            }
            Step::Act(act) => {
                let Some(pool) = yard.get(place) else { continue };
                beat.begins(act.name(), place);
                acts::run(act, Scene { pool, rng: &mut dice, hands: Some(&mut hands) });
            }
        }
    }
    beat.begins("letting go", 0);
    guarded("the drop of handles and submitters", || drop(hands));
}

/// A place without a pool gets one; so does, after a while, one where little can happen any more.
fn is_spent(yard: &Yard, place: usize, dice: &mut Rng) -> bool {
    let closed_for_a_while = dice.u32(..200) == 0;
    yard.get(place).is_none_or(|pool| closed_for_a_while && !acts::is_open(&pool))
}

/// Ends a pool, if there is one.
pub(crate) fn end(pool: Option<Arc<Pool>>, dice: &mut Rng) {
    if let Some(pool) = pool {
        guarded("an end", || closing::retire(pool, dice));
    }
}

fn guarded(what: &str, f: impl FnOnce()) {
    if let Err(value) = catch_unwind(AssertUnwindSafe(f)) {
        discard(value);
        findings::other(format!("a panic got out of {what}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(seed: u64, thread: usize) -> Vec<(Step, usize, u64)> {
        let mut script = Script::new(seed, thread);
        (0..1000)
            .map(|_| {
                let (step, place, mut dice) = script.next(4);
                (step, place, dice.u64(..))
            })
            .collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_script() {
        assert_eq!(steps(7, 1), steps(7, 1));
        assert_ne!(steps(7, 1), steps(7, 2));
        assert_ne!(steps(7, 1), steps(8, 1));
    }
}
