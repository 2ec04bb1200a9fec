//! What the pool does not count: files' contents, and what was given up on the way.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use dockhand::{Outcome, Shed};

use crate::job::{Content, Job};

/// How many places that could not be looked at are kept for the report; the others are counted.
const NAMED: usize = 1000;

/// Sums over all files. Written by the workers and the walker, read at the end.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Files that were read to their end, whatever was in them.
    pub(crate) files: Sum,
    pub(crate) bytes: Sum,
    pub(crate) lines: Sum,
    pub(crate) words: Sum,
    pub(crate) pictures: Sum,
    pub(crate) thumbnails: Sum,
    /// Follow-ups that were not taken, because the run was ending.
    pub(crate) follow_ups_refused: Sum,
    /// Notices that made room for newer ones.
    pub(crate) notices_evicted: Sum,
    /// Notices that did not arrive in time.
    pub(crate) notices_expired: Sum,
    /// Dead letters that made room for newer ones.
    pub(crate) letters_evicted: Sum,
    /// Places in the tree that could not be looked at.
    pub(crate) unreadable: Places,
}

#[derive(Debug, Default)]
pub(crate) struct Sum(AtomicU64);

impl Sum {
    pub(crate) fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Places with the reason why they could not be looked at.
#[derive(Debug, Default)]
pub(crate) struct Places {
    count: Sum,
    named: Mutex<Vec<(PathBuf, String)>>,
}

impl Places {
    pub(crate) fn add(&self, place: &Path, why: String) {
        self.count.add(1);
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        if named.len() < NAMED {
            named.push((place.to_owned(), why));
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.get()
    }

    /// The first of them, in the order of the walk.
    pub(crate) fn named(&self) -> Vec<(PathBuf, String)> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Tally {
    pub(crate) fn record_file(&self, bytes: u64) {
        self.files.add(1);
        self.bytes.add(bytes);
    }

    pub(crate) fn record_content(&self, content: Content) {
        match content {
            Content::Text { lines, words } => {
                self.lines.add(lines);
                self.words.add(words);
            }
            Content::Picture { .. } => self.pictures.add(1),
        }
    }

    /// A payload that leaves the pool without having been asked for.
    pub(crate) fn record_shed(&self, shed: &Shed<Job>) {
        match shed.outcome {
            Outcome::Evicted => self.notices_evicted.add(1),
            Outcome::Expired => self.notices_expired.add(1),
            Outcome::DeadLettered => self.letters_evicted.add(1),
            _ => {}
        }
    }
}
