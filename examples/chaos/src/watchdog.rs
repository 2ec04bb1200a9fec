//! Ends the process where a thread's act does not end, and says what every pool did then.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::findings;
use crate::pool;

/// Far more than any act may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a thread does, and since when.
pub(crate) struct Beat {
    thread: String,
    last: Mutex<(Instant, &'static str, usize)>,
}

impl Beat {
    pub(crate) fn begins(&self, act: &'static str, place: usize) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = (Instant::now(), act, place);
    }

    fn overdue(&self) -> Option<String> {
        let (since, act, place) = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let age = since.elapsed();
        (age > PATIENCE).then(|| format!("{} has been in {act:?}, place {place}, for {age:?}", self.thread))
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
            while end.recv_timeout(Duration::from_millis(500)) == Err(RecvTimeoutError::Timeout) {
                watched.look();
            }
        });
        Watchdog { beats, leash: Some(leash), thread: Some(thread) }
    }

    pub(crate) fn beat(&self, thread: impl Into<String>) -> Arc<Beat> {
        let beat = Arc::new(Beat { thread: thread.into(), last: Mutex::new((Instant::now(), "start", 0)) });
        self.beats.0.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&beat));
        beat
    }

    pub(crate) fn forget(&self, beat: &Arc<Beat>) {
        let mut beats = self.beats.0.lock().unwrap_or_else(PoisonError::into_inner);
        beats.retain(|other| !Arc::ptr_eq(other, beat));
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
    fn look(&self) {
        let overdue: Vec<_> = {
            let beats = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            beats.iter().filter_map(|beat| beat.overdue()).collect()
        };
        if overdue.is_empty() {
            return;
        }
        for line in overdue {
            findings::write(&format!("hang: {line}"));
        }
        findings::write(&format!("pools, those that are being dropped included: {:?}", pool::names()));
        for pool in pool::live() {
            findings::write(&format!("{}: {:#?}\n{:#?}", pool.book.name, pool.status(), pool.metrics()));
        }
        std::process::abort();
    }
}
