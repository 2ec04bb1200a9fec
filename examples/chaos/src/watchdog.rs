//! Ends the process where a step of a thread does not end, and says what everybody did then.
//!
//! Patience is counted in rounds and not in seconds: in each the watchdog sleeps, and then lets everybody go first who wants to
//! run, a few times. On a machine with time to spare a round is its sleep. On a busy one it is as long as it takes until the
//! others have had their turns, so a thread that was starved has not been waited for.

use std::cell::RefCell;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::findings;
use crate::pool::{self, Pool};
use crate::totals;

/// Half a minute, and 3,000 turns of the scheduler. The longest that a step can ask for is a second, for the shutdown of a pool
/// with a lane that may be paused; what it has to compute is finite and well below that. The report says how long the longest
/// one took.
const MOST_ROUNDS: u32 = 300;
const ROUND: Duration = Duration::from_millis(100);
const TURNS: u32 = 10;
/// A pool that is so stuck that it cannot be shown does not keep the process alive.
const LONGEST_WORDS: Duration = Duration::from_secs(10);

/// What a thread does.
struct Doing {
    act: &'static str,
    place: usize,
    /// What of the act it is in the middle of.
    step: &'static str,
    /// The pool that it ends, if it is at that.
    pool: String,
    since: Instant,
    /// Rounds of the watchdog since the step began.
    rounds: u32,
    longest: (Duration, String),
}

pub(crate) struct Beat {
    thread: String,
    doing: Mutex<Doing>,
}

thread_local! {
    static OWN: RefCell<Option<Arc<Beat>>> = const { RefCell::new(None) };
}

/// The calling thread begins another step of its act. Only threads with a beat have steps.
pub(crate) fn step(step: &'static str) {
    with_own(|doing| doing.begin(doing.act, step));
}

/// The acts that follow, or the steps of this one, are about this pool.
pub(crate) fn names(pool: &Pool) {
    with_own(|doing| doing.pool.push_str(&pool.book.name));
}

fn with_own(change: impl FnOnce(&mut Doing)) {
    // User code may come here as its thread ends.
    let _ = OWN.try_with(|own| {
        if let Some(beat) = &*own.borrow() {
            change(&mut beat.doing());
        }
    });
}

impl Doing {
    fn begin(&mut self, act: &'static str, step: &'static str) {
        let now = Instant::now();
        let took = now - self.since;
        if took > self.longest.0 {
            self.longest = (took, format!("{}: {}", self.act, self.step));
        }
        (self.act, self.step, self.since, self.rounds) = (act, step, now, 0);
    }
}

impl Beat {
    fn new(thread: String) -> Self {
        let doing = Doing {
            act: "start",
            place: 0,
            step: "",
            pool: String::new(),
            since: Instant::now(),
            rounds: 0,
            longest: Default::default(),
        };
        Beat { thread, doing: Mutex::new(doing) }
    }

    fn doing(&self) -> MutexGuard<'_, Doing> {
        self.doing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The steps of the calling thread are this beat's from here on.
    pub(crate) fn adopt(self: &Arc<Self>) {
        OWN.set(Some(Arc::clone(self)));
    }

    pub(crate) fn begins(&self, act: &'static str, place: usize) {
        let mut doing = self.doing();
        doing.begin(act, "");
        doing.place = place;
        doing.pool.clear();
    }

    /// One more round. True if the step has been given enough of them.
    fn has_had_its_time(&self) -> bool {
        let mut doing = self.doing();
        doing.rounds += 1;
        doing.rounds > MOST_ROUNDS
    }

    fn describe(&self) -> String {
        let Doing { act, place, step, ref pool, since, rounds, .. } = *self.doing();
        let age = since.elapsed();
        let thread = &self.thread;
        format!("{thread}, place {place}: {act}: {step} {pool}, since {rounds} rounds ({age:.1?})")
    }
}

#[derive(Clone, Default)]
struct Beats(Arc<Mutex<Vec<Arc<Beat>>>>);

/// Watches the beats of all threads until it is dropped.
pub(crate) struct Watchdog {
    beats: Beats,
    leash: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    pub(crate) fn new() -> Self {
        let (beats, (leash, end)) = (Beats::default(), channel::<()>());
        let watched = beats.clone();
        let thread = std::thread::spawn(move || {
            while end.recv_timeout(ROUND) == Err(RecvTimeoutError::Timeout) {
                (0..TURNS).for_each(|_| std::thread::yield_now());
                watched.look();
            }
        });
        Watchdog { beats, leash: Some(leash), thread: Some(thread) }
    }

    pub(crate) fn beat(&self, thread: impl Into<String>) -> Arc<Beat> {
        let beat = Arc::new(Beat::new(thread.into()));
        self.beats.all().push(Arc::clone(&beat));
        beat
    }

    /// The thread has ended.
    pub(crate) fn forget(&self, beat: &Arc<Beat>) {
        beat.begins("end", 0);
        let (took, step) = std::mem::take(&mut beat.doing().longest);
        totals::longest_step(took, step);
        self.beats.all().retain(|other| !Arc::ptr_eq(other, beat));
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.leash.take());
        if let Some(thread) = self.thread.take() {
            // It has nothing that panics.
            let _ = thread.join();
        }
    }
}

impl Beats {
    fn all(&self) -> MutexGuard<'_, Vec<Arc<Beat>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self) {
        let beats = self.all().clone();
        let mut overdue = Vec::new();
        for beat in &beats {
            if beat.has_had_its_time() {
                overdue.push(beat.describe());
            }
        }
        if !overdue.is_empty() {
            bark(&overdue, &beats);
        }
    }
}

fn bark(overdue: &[String], all: &[Arc<Beat>]) -> ! {
    for line in overdue {
        findings::write(&format!("hang: {line}"));
    }
    for beat in all {
        findings::write(&beat.describe());
    }
    findings::write(&format!("pools, those that are being dropped included: {:?}", pool::names()));
    let (done, is_done) = channel();
    std::thread::spawn(move || {
        for pool in pool::live() {
            findings::write(&format!("{}: {:?} {:?}", pool.book.name, pool.status(), pool.metrics()));
        }
        // If nobody listens any more the process is at its end.
        let _ = done.send(());
    });
    // Whether all of it was said does not matter any more.
    let _ = is_done.recv_timeout(LONGEST_WORDS);
    std::process::abort();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overdue_after(beat: &Beat) -> u32 {
        (1..).find(|_| beat.has_had_its_time()).expect("once")
    }

    #[test]
    fn a_step_has_its_rounds_and_the_next_one_has_them_anew() {
        let beat = Arc::new(Beat::new("thread".into()));
        beat.adopt();
        beat.begins("replace", 3);
        assert_eq!(overdue_after(&beat), MOST_ROUNDS + 1);
        step("shutdown");
        assert_eq!(overdue_after(&beat), MOST_ROUNDS + 1);
        let text = beat.describe();
        assert!(text.starts_with("thread, place 3: replace: shutdown"), "{text}");
        beat.doing().since -= Duration::from_secs(7);
        step("drop");
        let (took, what) = beat.doing().longest.clone();
        assert!(took >= Duration::from_secs(7));
        assert_eq!(what, "replace: shutdown");
    }

    #[test]
    fn a_thread_without_a_beat_has_no_steps() {
        step("nothing");
    }
}
