//! What one runner is doing, in one word with one owner.
//!
//! A *runner* is whoever runs attempts: a worker, or a thread in a caller-run. Its word goes
//!
//! ```text
//!          look          run                 end            tidy
//!   Idle ───────► Look ───────► Run ───────► Ending ───────► Tidying ──► Idle or Look
//!    ▲             │             │ mark (by a shutdown)         ▲
//!    └─────────────┘             └──────────► Marked ───────────┘
//!   and last, for a worker: Left (its stop hook runs), Ended (nothing more comes)
//! ```
//!
//! * `Look` covers the pop: no user code runs in it, so a shutdown may wait for its end.
//! * An attempt ends by **one swap**, to `Ending`. A shutdown that gave up waiting has put `Marked` there: then the
//!   outcome is decided and the runner keeps quiet. A plain store could overwrite the mark, and the task would be
//!   counted twice.
//! * `Ending` covers the counting and the hand-over of a retry: no user code, so it may be waited for as well.
//! * `Tidying` covers hooks and drops: it may last as long as the user likes, but nothing is open any more.
//!
//! A thread that tells listeners of the attempt is a *teller*; their number is beside the phase. A shutdown that marks an
//! attempt without a teller tells its end itself, and whoever comes to tell later sees the mark. If there are tellers, the
//! last of them tells the end, after what the listeners are hearing. Mark and tellers meet in one word, so the end is told
//! by exactly one, and nothing after it. Until it is told the runner is not quiet.
//!
//! The number of looks above both makes two equal readings of an idle word mean "nothing was taken in between",
//! which `wait_idle` builds on.

use crate::sync::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use crate::task::TaskId;
use std::fmt;

/// The phase of a [`Word`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Idle,
    Look,
    Run,
    Ending,
    Tidying,
    Marked,
    Left,
    Ended,
}

impl Phase {
    const ALL: [Phase; 8] = [
        Phase::Idle,
        Phase::Look,
        Phase::Run,
        Phase::Ending,
        Phase::Tidying,
        Phase::Marked,
        Phase::Left,
        Phase::Ended,
    ];

    /// No task is in this runner's hands: that of a `Marked` one is gone.
    pub(crate) fn is_quiet(self) -> bool {
        matches!(self, Phase::Idle | Phase::Left | Phase::Ended | Phase::Marked)
    }

    /// It has a task, whose end may still run hooks.
    pub(crate) fn is_busy(self) -> bool {
        matches!(self, Phase::Run | Phase::Ending | Phase::Tidying | Phase::Marked)
    }
}

/// Who tells the end of an attempt that a shutdown has taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndTeller {
    Shutdown,
    /// Listeners are hearing of the attempt; whoever is the last to tell them tells them of its end.
    LastTeller,
}

/// A reading of a [`Word`]: phase, number of tellers and number of looks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading(u64);

impl Reading {
    const PHASE_BITS: u32 = 3;
    const TELLER_BITS: u32 = 16;
    const MAX_TELLERS: u64 = (1 << Self::TELLER_BITS) - 1;
    const ONE_TELLER: u64 = 1 << Self::PHASE_BITS;
    const LOOKS_SHIFT: u32 = Self::PHASE_BITS + Self::TELLER_BITS;

    /// Without a teller.
    #[inline]
    fn new(looks: u64, phase: Phase) -> Self {
        Reading(looks << Self::LOOKS_SHIFT | phase as u64)
    }

    #[inline]
    fn looks(self) -> u64 {
        self.0 >> Self::LOOKS_SHIFT
    }

    #[inline]
    pub(crate) fn phase(self) -> Phase {
        Phase::ALL[(self.0 & 7) as usize]
    }

    /// Threads that tell listeners of the attempt: a context may be shared.
    fn tellers(self) -> u64 {
        self.0 >> Self::PHASE_BITS & Self::MAX_TELLERS
    }

    /// Nothing that counts for `wait_idle` is in this runner's hands, nor an end that it still has to tell.
    pub(crate) fn is_quiet(self) -> bool {
        self.phase().is_quiet() && self.tellers() == 0
    }

    /// Of the same attempt, with as many tellers.
    fn marked(self) -> Self {
        Reading(self.0 & !7 | Phase::Marked as u64)
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} after {} looks, {} tellers", self.phase(), self.looks(), self.tellers())
    }
}

/// The word itself. All but [`Word::read`], [`Word::mark`] and the telling belong to its owner.
pub(crate) struct Word(AtomicU64);

impl Word {
    pub(crate) fn new() -> Self {
        Word(AtomicU64::new(Reading::new(0, Phase::Idle).0))
    }

    #[inline]
    fn own(&self) -> Reading {
        Reading(self.0.load(Ordering::Relaxed))
    }

    #[inline]
    fn store(&self, phase: Phase, order: Ordering) {
        self.0.store(Reading::new(self.own().looks(), phase).0, order);
    }

    /// Before a pop. The pop's own read-modify-write publishes it: who finds the element gone sees the look.
    #[inline]
    pub(crate) fn look(&self) {
        let looks = self.own().looks().wrapping_add(1);
        self.0.store(Reading::new(looks, Phase::Look).0, Ordering::Release);
    }

    #[inline]
    pub(crate) fn run(&self) {
        // Ordering: Release, read by `read`: who sees the attempt sees what describes it.
        self.store(Phase::Run, Ordering::Release);
    }

    /// The end of an attempt. False if a shutdown has decided already.
    #[inline]
    pub(crate) fn end(&self) -> bool {
        let next = Reading::new(self.own().looks(), Phase::Ending);
        // Ordering: AcqRel, partner of the exchange in `mark`; exactly one of the two decides.
        let before = Reading(self.0.swap(next.0, Ordering::AcqRel));
        before.phase() != Phase::Marked
    }

    #[inline]
    pub(crate) fn tidy(&self) {
        // Ordering: Release, read by `read`: who sees this sees the counts of the attempt.
        self.store(Phase::Tidying, Ordering::Release);
    }

    #[inline]
    pub(crate) fn idle(&self) {
        // Ordering: Release, read by `read`: who sees the runner idle sees all that it did.
        self.store(Phase::Idle, Ordering::Release);
    }

    pub(crate) fn leave(&self) {
        // Ordering: as `idle`.
        self.store(Phase::Left, Ordering::Release);
    }

    pub(crate) fn ended(&self) {
        // Ordering: as `idle`.
        self.store(Phase::Ended, Ordering::Release);
    }

    pub(crate) fn read(&self) -> Reading {
        // Ordering: Acquire, partner of the stores above.
        Reading(self.0.load(Ordering::Acquire))
    }

    /// Takes the outcome of a running attempt away from its runner. `None` if it is not the one that was seen.
    pub(crate) fn mark(&self, seen: Reading) -> Option<EndTeller> {
        let mark = |word| {
            let now = Reading(word);
            let is_seen = now.phase() == Phase::Run && now.looks() == seen.looks();
            is_seen.then(|| now.marked().0)
        };
        // Ordering: AcqRel, partner of the swap in `end` and of the changes in `end_telling`: what is told of the end comes
        // after what was told before it.
        let before = self.0.fetch_update(Ordering::AcqRel, Ordering::Relaxed, mark).ok()?;
        let is_heard = Reading(before).tellers() > 0;
        Some(if is_heard { EndTeller::LastTeller } else { EndTeller::Shutdown })
    }

    /// Before listeners are told of the running attempt. False if a shutdown has given it up: its end is the last that they
    /// hear of it. False as well if there are more tellers than can be counted.
    pub(crate) fn begin_telling(&self) -> bool {
        let one_more = |word| {
            let seen = Reading(word);
            let may_tell = seen.phase() != Phase::Marked && seen.tellers() < Reading::MAX_TELLERS;
            may_tell.then_some(word + Reading::ONE_TELLER)
        };
        // Relaxed: it is counted or comes after the mark; there is nothing else to see yet.
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    /// After it. True if this is the last teller of an attempt that was marked meanwhile. It has to tell the end, and
    /// stays a teller until it has [told it](Word::told_end).
    pub(crate) fn end_telling(&self) -> bool {
        let one_less = |word| {
            let seen = Reading(word);
            let owes_end = seen.phase() == Phase::Marked && seen.tellers() == 1;
            (!owes_end).then(|| word - Reading::ONE_TELLER)
        };
        // Ordering: Release, partner of the exchange in `mark` and of the Acquire of the last teller: what is told of the
        // end comes after what was told before it.
        self.0.fetch_update(Ordering::Release, Ordering::Acquire, one_less).is_err()
    }

    pub(crate) fn told_end(&self) {
        // Ordering: Release, read by `read`: who sees the runner quiet sees what it told.
        self.0.fetch_sub(Reading::ONE_TELLER, Ordering::Release);
    }
}

/// Whoever runs attempts, for a thread that is inside a pool.
pub(crate) trait HasRunner: Send + Sync {
    fn runner(&self) -> &Runner;
}

/// What a runner runs; written before the word says `Run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Running {
    pub(crate) task: u64,
    pub(crate) lane: usize,
    pub(crate) attempt: u32,
    /// When the attempt started, in nanoseconds of the pool's clock; 0 if it is not timed.
    pub(crate) since: u64,
    /// When it last reported progress, 0 if it has not.
    pub(crate) progress: u64,
}

impl Running {
    /// A task that is not run but given away.
    pub(crate) fn waiting(id: TaskId, lane: usize, attempt: u32) -> Self {
        Running { task: id.as_u64(), lane, attempt, since: 0, progress: 0 }
    }
}

/// A runner's word with the description of its attempt, on cache lines of its own.
#[repr(align(128))]
pub(crate) struct Runner {
    pub(crate) word: Word,
    /// How many calls of `shutdown` its thread is inside of: such an attempt is not waited for from inside.
    blocked: AtomicUsize,
    task: AtomicU64,
    lane: AtomicUsize,
    attempt: AtomicU32,
    since: AtomicU64,
    progress: AtomicU64,
}

impl Runner {
    pub(crate) fn new() -> Self {
        Runner {
            word: Word::new(),
            blocked: AtomicUsize::new(0),
            task: AtomicU64::new(0),
            lane: AtomicUsize::new(0),
            attempt: AtomicU32::new(0),
            since: AtomicU64::new(0),
            progress: AtomicU64::new(0),
        }
    }

    /// An attempt starts.
    #[inline]
    pub(crate) fn start(&self, running: Running) {
        self.describe(running);
        self.word.run();
    }

    /// What the runner has in its hands, from its look on.
    #[inline]
    pub(crate) fn describe(&self, running: Running) {
        // Relaxed: published by the word's Release store. The fence that every take has after its look keeps a reader
        // that sees these from seeing the word as it was before the look.
        self.task.store(running.task, Ordering::Relaxed);
        self.lane.store(running.lane, Ordering::Relaxed);
        self.attempt.store(running.attempt, Ordering::Relaxed);
        self.since.store(running.since, Ordering::Relaxed);
        self.progress.store(0, Ordering::Relaxed);
    }

    /// What it runs, if the word stood still while that was read.
    pub(crate) fn running(&self) -> Option<Running> {
        let before = self.word.read();
        if !before.phase().is_busy() {
            return None;
        }
        let running = Running {
            task: self.task.load(Ordering::Relaxed),
            lane: self.lane.load(Ordering::Relaxed),
            attempt: self.attempt.load(Ordering::Relaxed),
            since: self.since.load(Ordering::Relaxed),
            progress: self.progress.load(Ordering::Relaxed),
        };
        // Ordering: keeps the reads above before the second look, as in a sequence lock.
        fence(Ordering::Acquire);
        (self.word.read().looks() == before.looks()).then_some(running)
    }

    /// The running attempt has given a sign of life.
    pub(crate) fn progressed(&self, now: u64) {
        self.progress.store(now, Ordering::Relaxed);
    }

    pub(crate) fn block(&self) {
        // Ordering: the telling that follows goes through the lock of the waiters.
        self.blocked.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn unblock(&self) {
        self.blocked.fetch_sub(1, Ordering::AcqRel);
    }

    pub(crate) fn is_blocked(&self) -> bool {
        self.blocked.load(Ordering::Acquire) > 0
    }
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Runner").field(&self.word.read()).finish()
    }
}

#[cfg(all(test, not(dockhand_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_mark_and_an_end_decide_once() {
        let word = Word::new();
        word.look();
        word.run();
        let seen = word.read();
        assert_eq!(word.mark(seen), Some(EndTeller::Shutdown));
        assert_eq!(word.mark(seen), None, "marked twice");
        assert!(!word.end(), "the shutdown had decided");
        word.idle();
        word.look();
        word.run();
        let seen = word.read();
        assert!(word.end());
        assert_eq!(word.mark(seen), None, "the runner had decided");
    }

    #[test]
    fn the_last_teller_of_a_marked_attempt_tells_its_end() {
        let word = Word::new();
        word.look();
        word.run();
        assert!(word.begin_telling() && word.begin_telling());
        assert_eq!(word.mark(word.read()), Some(EndTeller::LastTeller));
        assert!(!word.begin_telling(), "something after the end");
        assert!(!word.end_telling(), "another is telling still");
        assert!(word.end_telling());
        assert!(!word.read().is_quiet(), "the end is not told yet");
        word.told_end();
        assert!(word.read().is_quiet());
        assert!(!word.end(), "the shutdown had decided");
    }

    #[test]
    fn a_teller_that_is_done_leaves_the_end_to_whoever_decides() {
        let word = Word::new();
        word.look();
        word.run();
        let before = word.read();
        assert!(word.begin_telling());
        assert_eq!(word.read().phase(), Phase::Run);
        assert!(!word.end_telling());
        assert_eq!(word.read(), before);
        assert_eq!(word.mark(before), Some(EndTeller::Shutdown));
    }

    #[test]
    fn no_more_tell_at_once_than_can_be_counted() {
        let word = Word::new();
        word.look();
        word.run();
        assert!((0..Reading::MAX_TELLERS).all(|_| word.begin_telling()));
        assert!(!word.begin_telling());
        assert_eq!((word.read().phase(), word.read().looks()), (Phase::Run, 1));
    }

    #[test]
    fn a_look_changes_the_reading_even_if_nothing_was_found() {
        let word = Word::new();
        let before = word.read();
        word.look();
        word.idle();
        assert_eq!(word.read().phase(), before.phase());
        assert_ne!(word.read(), before);
    }

    #[test]
    fn what_runs_is_told_only_while_it_runs() {
        let runner = Runner::new();
        assert_eq!(runner.running(), None);
        let running = Running { task: 7, lane: 1, attempt: 2, since: 9, progress: 0 };
        runner.word.look();
        runner.start(running);
        assert_eq!(runner.running(), Some(running));
        runner.word.idle();
        assert_eq!(runner.running(), None);
    }
}
