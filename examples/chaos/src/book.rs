//! What the values and hooks of one pool share: its ledger, a way to it, and its dice. The books are closed, and checked,
//! when the last of them is gone.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use dockhand::metrics::Counts;
use dockhand::{Outcome, RejectReason, TaskId, TaskSubmitter};
use fastrand::Rng;

use crate::crew::Crew;
use crate::findings::{self, Finding};
use crate::ledger::{Hears, Ledger};
use crate::pool::Pool;
use crate::totals;

/// A lane as the soak needs to know it.
#[derive(Clone, Debug)]
pub(crate) struct LaneFacts {
    pub(crate) name: &'static str,
    pub(crate) is_limited: bool,
}

pub(crate) struct Book {
    /// The name of the pool, and how its threads' names begin.
    pub(crate) name: String,
    pub(crate) lanes: Vec<LaneFacts>,
    ledger: Mutex<Ledger<TaskId>>,
    pool: OnceLock<Weak<Pool>>,
    /// A circle through the pool's user code, which the end of the pool has to break.
    submitter: Mutex<Option<TaskSubmitter<Crew>>>,
    is_calm: AtomicBool,
    /// How many threads are in something that a calm pool does not suffer.
    disturbing: AtomicU64,
    seed: u64,
    draws: AtomicU64,
}

static OPEN: Mutex<Vec<(String, Weak<Book>)>> = Mutex::new(Vec::new());

/// The names of the pools of which something is left.
pub(crate) fn open() -> Vec<String> {
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let left = open.iter().filter(|(_, book)| book.strong_count() > 0);
    left.map(|(name, _)| name.clone()).collect()
}

impl Book {
    pub(crate) fn new(seed: u64, hears: Hears, lanes: Vec<LaneFacts>) -> Arc<Self> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let book = Arc::new(Book {
            name: format!("c{}", NUMBERS.fetch_add(1, Ordering::Relaxed)),
            lanes,
            ledger: Mutex::new(Ledger::new(hears)),
            pool: OnceLock::new(),
            submitter: Mutex::new(None),
            is_calm: AtomicBool::new(false),
            disturbing: AtomicU64::new(0),
            seed,
            draws: AtomicU64::new(0),
        });
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(_, book)| book.strong_count() > 0);
        open.push((book.name.clone(), Arc::downgrade(&book)));
        drop(open);
        book
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger<TaskId>> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the pool has given a thread its name.
    pub(crate) fn owns_thread(&self, name: &str) -> bool {
        name.strip_prefix(&self.name).is_some_and(|rest| rest.starts_with('-'))
    }

    /// Dice for one piece of user code.
    pub(crate) fn dice(&self) -> Rng {
        let draw = self.draws.fetch_add(1, Ordering::Relaxed);
        Rng::with_seed(self.seed.wrapping_add(draw.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    pub(crate) fn found(&self, pool: Weak<Pool>) {
        // There is one pool to a book.
        let _ = self.pool.set(pool);
    }

    pub(crate) fn pool(&self) -> Option<Arc<Pool>> {
        self.pool.get()?.upgrade()
    }

    pub(crate) fn keep(&self, submitter: TaskSubmitter<Crew>) {
        *self.submitter.lock().unwrap_or_else(PoisonError::into_inner) = Some(submitter);
    }

    pub(crate) fn submitter(&self) -> Option<TaskSubmitter<Crew>> {
        self.submitter.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets go of the circle: the pool has ended, or was not built.
    pub(crate) fn let_go(&self) {
        let submitter = self.submitter.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(submitter);
    }

    /// No user code begins any mischief from here on, and nobody pauses a lane or closes the pool any more: whoever was about
    /// to has done it when this returns.
    pub(crate) fn calm_down(&self) {
        self.is_calm.store(true, Ordering::SeqCst);
        while self.disturbing.load(Ordering::SeqCst) > 0 {
            std::thread::yield_now();
        }
    }

    /// For what may keep a pool from coming to rest. `None` once it is calm. A look at `is_calm` alone would not do: what
    /// comes a moment after it would come after the calm began.
    pub(crate) fn disturb(&self) -> Option<Disturbing<'_>> {
        // Counted first: either `calm_down` sees this one, or this one sees the calm.
        self.disturbing.fetch_add(1, Ordering::SeqCst);
        let disturbing = Disturbing(self);
        (!self.is_calm()).then_some(disturbing)
    }

    pub(crate) fn is_calm(&self) -> bool {
        self.is_calm.load(Ordering::SeqCst)
    }

    /// A lane of the pool, or rarely one that it does not have.
    pub(crate) fn any_lane(&self, rng: &mut Rng) -> &'static str {
        if rng.u32(..200) == 0 { "nowhere" } else { self.lanes[rng.usize(..self.lanes.len())].name }
    }

    pub(crate) fn accepted(&self, task: TaskId) {
        let mut ledger = self.ledger();
        ledger.answers().accepted += 1;
        ledger.named(task);
    }

    pub(crate) fn tracked(&self, task: TaskId) {
        let mut ledger = self.ledger();
        ledger.answers().tracked += 1;
        ledger.named(task);
    }

    pub(crate) fn caller_ran(&self, task: TaskId, outcome: Option<Outcome>) {
        let mut ledger = self.ledger();
        ledger.answers().caller_run += 1;
        ledger.named(task);
        if let Some(outcome) = outcome {
            ledger.shown(task, outcome);
        }
    }

    pub(crate) fn refused(&self, reason: RejectReason) {
        let mut ledger = self.ledger();
        match reason {
            // Of no lane, so no lane counts it.
            RejectReason::UnknownLane => {}
            RejectReason::Dropped => ledger.answers().dropped += 1,
            _ => ledger.answers().rejected += 1,
        }
    }

    /// A shutdown from outside has come back with these.
    pub(crate) fn reported(&self, counts: &Counts) {
        self.ledger().reported(*counts);
    }

    /// A finding, under the name of the pool.
    pub(crate) fn note(&self, finding: &Finding) {
        let what = format!("{}: {}", self.name, finding.what);
        findings::note(&Finding { promise: finding.promise, what });
    }
}

/// Somebody is at it.
pub(crate) struct Disturbing<'a>(&'a Book);

impl Drop for Disturbing<'_> {
    fn drop(&mut self) {
        self.0.disturbing.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for Book {
    fn drop(&mut self) {
        let ledger = self.ledger();
        totals::add(&ledger);
        for finding in ledger.check() {
            self.note(&finding);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calm_begins_after_whoever_was_about_to_disturb_it() {
        let hears = Hears { events: false, shed: false };
        let book = Book::new(1, hears, Vec::new());
        let done = AtomicBool::new(false);
        let disturbing = book.disturb().expect("not calm yet");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                book.calm_down();
                assert!(done.load(Ordering::SeqCst), "a disturbance was not waited for");
            });
            while !book.is_calm() {
                std::thread::yield_now();
            }
            assert!(book.disturb().is_none(), "a disturbance that began after the calm");
            done.store(true, Ordering::SeqCst);
            drop(disturbing);
        });
    }
}
