//! Who sleeps, who searches, and who is woken. It knows no queue; the proof is in `README.md` beside this file.
//!
//! After the sleep protocol of rayon-core (`rayon-core/src/sleep/README.md`), with the sleeper's own flag in place of
//! its jobs counter.
#![doc = include_str!("README.md")]

use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering, Parker, fence};
use crossbeam::utils::CachePadded;
use std::fmt;

/// What the one word says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct State(u64);

impl State {
    const ONE_SLEEPING: u64 = 1;
    const ONE_SEARCHING: u64 = 1 << 24;
    const COUNT: u64 = (1 << 24) - 1;
    const CLOSED: u64 = 1 << 48;
    const ABORTING: u64 = 1 << 49;

    pub(crate) fn sleeping(self) -> u64 {
        self.0 & Self::COUNT
    }

    pub(crate) fn searching(self) -> u64 {
        (self.0 >> 24) & Self::COUNT
    }

    /// No new work is taken in.
    pub(crate) fn is_closed(self) -> bool {
        self.0 & Self::CLOSED != 0
    }

    /// The window for draining is over: nothing more is started.
    pub(crate) fn is_aborting(self) -> bool {
        self.0 & Self::ABORTING != 0
    }

    /// The wake rule: a wake is due if somebody sleeps and nobody searches.
    fn wants_wake(self) -> bool {
        self.sleeping() > 0 && self.searching() == 0
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("sleeping", &self.sleeping())
            .field("searching", &self.searching())
            .field("closed", &self.is_closed())
            .field("aborting", &self.is_aborting())
            .finish()
    }
}

/// What a worker without a task knows of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    /// Not counted anywhere: it has, or just had, a task.
    Busy,
    /// Counted in the word as searching: submits rely on it to find what they push.
    Searching,
}

#[derive(Default)]
struct Sleeper {
    /// Set by the waker inside the sleepers' lock; only then does a park end.
    woken: AtomicBool,
    parker: Parker,
}

/// The word, the list of sleepers and their park tokens.
pub(crate) struct Sleep {
    state: CachePadded<AtomicU64>,
    sleepers: Mutex<Vec<usize>>,
    workers: Box<[CachePadded<Sleeper>]>,
}

impl Sleep {
    pub(crate) fn new(workers: usize) -> Self {
        Sleep {
            state: CachePadded::new(AtomicU64::new(0)),
            sleepers: Mutex::new(Vec::with_capacity(workers)),
            workers: (0..workers).map(|_| CachePadded::default()).collect(),
        }
    }

    /// Names the calling thread as worker `me`, before its first sleep.
    pub(crate) fn bind(&self, me: usize) {
        self.workers[me].parker.bind();
    }

    /// A look at the word that orders nothing: for refusing early, for contexts and for numbers.
    #[inline]
    pub(crate) fn state(&self) -> State {
        State(self.state.load(Ordering::Relaxed))
    }

    /// The second half of a submit: what was made visible before this call is seen by whoever falls asleep after it.
    /// The caller settles a closed pool and then applies [`Sleep::wake_by_rule`].
    #[inline]
    pub(crate) fn after_push(&self) -> State {
        // Ordering: partner of the fences in `sleep` and `found`.
        fence(Ordering::SeqCst);
        self.state()
    }

    /// Work appeared in another way than by a submit: a due time, a leaver's last look, a caller-run that ended.
    pub(crate) fn work_appeared(&self) {
        let state = self.after_push();
        self.wake_by_rule(state);
    }

    /// Wakes one sleeper if somebody sleeps and nobody searches.
    #[inline]
    pub(crate) fn wake_by_rule(&self, state: State) {
        if state.wants_wake() {
            self.wake_one();
        }
    }

    #[cold]
    fn wake_one(&self) {
        let mut sleepers = self.sleepers.lock();
        // The second look keeps one offer from waking two workers.
        if self.state().searching() > 0 {
            return;
        }
        let Some(one) = sleepers.pop() else { return };
        self.mark_woken(one);
        drop(sleepers);
        self.workers[one].parker.unpark();
    }

    /// Inside the sleepers' lock, for one that was taken off the list: it counts as searching from here on.
    fn mark_woken(&self, one: usize) {
        self.move_count(State::ONE_SLEEPING, State::ONE_SEARCHING);
        // Ordering: Release, read by the Acquire load in `sleep`.
        self.workers[one].woken.store(true, Ordering::Release);
    }

    fn move_count(&self, from: u64, to: u64) {
        // Ordering: AcqRel keeps the changes of the word one chain; the proofs rest on the fences around it.
        let before = State(self.state.fetch_add(to.wrapping_sub(from), Ordering::AcqRel));
        debug_assert!(from != State::ONE_SLEEPING || before.sleeping() > 0, "{before:?}: no sleeper to move");
        debug_assert!(
            from != State::ONE_SEARCHING || before.searching() > 0,
            "{before:?}: no searcher to move"
        );
    }

    /// A worker has taken something, alive or dead. Ends its search before any user code runs; if it was the last one
    /// that searched and work is left, the next sleeper is woken.
    #[inline]
    pub(crate) fn found(&self, activity: &mut Activity, has_work: impl FnOnce() -> bool) {
        if *activity == Activity::Busy {
            return;
        }
        self.stop_searching(activity);
        // Ordering: partner of `after_push`. Either the submit sees that nobody searches, or its push is seen here.
        fence(Ordering::SeqCst);
        let state = self.state();
        if state.wants_wake() && has_work() {
            self.wake_one();
        }
    }

    /// Counts as searching if not more than `limit` do then. One that was woken counts already, and stops if it is one too
    /// many.
    pub(crate) fn try_start_searching(&self, activity: &mut Activity, limit: usize) -> bool {
        let limit = limit as u64;
        // Ordering: as in `move_count`.
        let change = |change: fn(State, u64) -> Option<u64>| {
            let step = |word| change(State(word), limit);
            self.state.fetch_update(Ordering::AcqRel, Ordering::Relaxed, step).is_ok()
        };
        let is_searching = match *activity {
            Activity::Busy => {
                change(|state, limit| (state.searching() < limit).then_some(state.0 + State::ONE_SEARCHING))
            }
            Activity::Searching => {
                !change(|state, limit| (state.searching() > limit).then_some(state.0 - State::ONE_SEARCHING))
            }
        };
        *activity = if is_searching { Activity::Searching } else { Activity::Busy };
        is_searching
    }

    /// Counts as searching in any case: a permit that came back may let something start, and this worker looks for it.
    pub(crate) fn start_searching(&self, activity: &mut Activity) {
        if *activity == Activity::Busy {
            *activity = Activity::Searching;
            self.move_count(0, State::ONE_SEARCHING);
        }
    }

    /// A search that ends without a task; the caller goes to sleep, or leaves, and looks again there.
    pub(crate) fn stop_searching(&self, activity: &mut Activity) {
        if *activity == Activity::Searching {
            *activity = Activity::Busy;
            self.move_count(State::ONE_SEARCHING, 0);
        }
    }

    /// Falls asleep, unless `stay_awake` sees a reason not to: it is asked once, after the announcement and its fence.
    /// Whoever comes back counts as searching, woken or not.
    pub(crate) fn sleep(&self, me: usize, activity: &mut Activity, stay_awake: impl FnOnce(State) -> bool) {
        self.stop_searching(activity);
        self.announce(me);
        // Ordering: partner of `after_push`, `close` and `abort`. Either they see the sleeper, or it sees their work.
        fence(Ordering::SeqCst);
        if stay_awake(self.state()) {
            self.retract(me);
        } else {
            let own = &self.workers[me];
            // Ordering: Acquire, partner of the Release store in `mark_woken`. Whatever user code did to the thread's
            // park token, only the flag ends the sleep.
            while !own.woken.load(Ordering::Acquire) {
                own.parker.park();
            }
        }
        *activity = Activity::Searching;
    }

    fn announce(&self, me: usize) {
        let mut sleepers = self.sleepers.lock();
        sleepers.push(me);
        self.workers[me].woken.store(false, Ordering::Relaxed);
        self.move_count(0, State::ONE_SLEEPING);
    }

    /// Takes itself off the list; a waker that was faster has counted it as searching already.
    fn retract(&self, me: usize) {
        let mut sleepers = self.sleepers.lock();
        if let Some(place) = sleepers.iter().rposition(|&one| one == me) {
            sleepers.remove(place);
            self.move_count(State::ONE_SLEEPING, State::ONE_SEARCHING);
        }
    }

    /// From here on no submit is taken in without settling it; wakes everybody. True for the first call.
    pub(crate) fn close(&self) -> bool {
        self.raise(State::CLOSED)
    }

    /// From here on no attempt is started; wakes everybody. Closes too.
    pub(crate) fn abort(&self) {
        self.raise(State::CLOSED | State::ABORTING);
    }

    fn raise(&self, flags: u64) -> bool {
        // Ordering: the fence below is the partner of those in `sleep` and `after_push`.
        let before = State(self.state.fetch_or(flags, Ordering::AcqRel));
        fence(Ordering::SeqCst);
        self.wake_all();
        before.0 & flags != flags
    }

    fn wake_all(&self) {
        let woken = {
            let mut sleepers = self.sleepers.lock();
            for &one in sleepers.iter() {
                self.mark_woken(one);
            }
            std::mem::take(&mut *sleepers)
        };
        for one in woken {
            self.workers[one].parker.unpark();
        }
    }
}

#[cfg(all(test, not(any(dockhand_loom, dockhand_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn no_more_search_than_are_allowed() {
        let sleep = Sleep::new(2);
        let (mut one, mut two) = (Activity::Busy, Activity::Busy);
        assert!(!sleep.try_start_searching(&mut one, 0));
        assert!(sleep.try_start_searching(&mut one, 1));
        assert!(!sleep.try_start_searching(&mut two, 1), "one searches");
        // Two that were woken count already.
        sleep.start_searching(&mut two);
        assert!(!sleep.try_start_searching(&mut one, 1), "it was one too many");
        assert!(sleep.try_start_searching(&mut two, 1), "the other one stays");
        assert_eq!((one, two), (Activity::Busy, Activity::Searching));
        assert_eq!(sleep.state().searching(), 1);
    }
}
