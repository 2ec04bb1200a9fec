//! What the scripts of `manual_script` offer, and where it went.

use dockhand::SubmitResult;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Ok,
    Fail,
    Panic,
    /// Works for so many milliseconds, then succeeds.
    Work(u64),
    /// Submits another to that lane, then succeeds.
    Follow(usize),
}

/// Says where it went when the pool lets go of it without a word.
pub(crate) struct Load {
    pub(crate) id: u64,
    pub(crate) steps: Vec<Step>,
    pub(crate) calls: u32,
    /// No start before this, and none at or after that.
    pub(crate) due: Instant,
    pub(crate) deadline: Option<Instant>,
    pub(crate) book: Arc<Book>,
}

impl Drop for Load {
    fn drop(&mut self) {
        *self.book.dropped.lock().unwrap().entry(self.id).or_default() += 1;
    }
}

/// Where each payload ended.
#[derive(Default)]
pub(crate) struct Book {
    pub(crate) ends: Mutex<HashMap<u64, Vec<&'static str>>>,
    pub(crate) dropped: Mutex<HashMap<u64, u32>>,
    pub(crate) made: Mutex<u64>,
    pub(crate) running: Mutex<[usize; 2]>,
    pub(crate) limit: Mutex<usize>,
    pub(crate) wrong: Mutex<Vec<String>>,
    /// Letters go at once: nobody will be there to take them.
    pub(crate) discards: Mutex<bool>,
}

impl Book {
    pub(crate) fn end(&self, load: &Load, what: &'static str) {
        self.ends.lock().unwrap().entry(load.id).or_default().push(what);
    }

    pub(crate) fn wrong(&self, is_wrong: bool, what: impl FnOnce() -> String) {
        if is_wrong {
            self.wrong.lock().unwrap().push(what());
        }
    }

    pub(crate) fn count(&self, what: &str) -> u64 {
        self.ends.lock().unwrap().values().flatten().filter(|end| **end == what).count() as u64
    }

    pub(crate) fn load(self: &Arc<Self>, steps: Vec<Step>, due: Instant, deadline: Option<Instant>) -> Load {
        let mut made = self.made.lock().unwrap();
        *made += 1;
        Load { id: *made, steps, calls: 0, due, deadline, book: Arc::clone(self) }
    }

    pub(crate) fn answered(&self, answer: SubmitResult<Load>) {
        match answer {
            SubmitResult::Accepted(_) | SubmitResult::CallerRun(_) => {}
            SubmitResult::Rejected(refused) => self.end(&refused.into_payload(), "rejected"),
            SubmitResult::Dropped(load) => self.end(&load, "dropped"),
        }
    }
}
