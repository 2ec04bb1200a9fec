//! A value that is counted.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Default)]
struct Book {
    made: u64,
    /// By id: how often it was dropped.
    dropped: HashMap<u64, u32>,
}

/// Counts the [`Tracked`] values that were made from it.
#[derive(Clone, Default)]
pub(crate) struct Ledger(Arc<Mutex<Book>>);

impl Ledger {
    pub(crate) fn new() -> Self {
        Ledger::default()
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn track(&self) -> Tracked {
        let mut book = self.book();
        book.made += 1;
        Tracked { id: book.made, ledger: self.clone() }
    }

    /// How many are alive.
    pub(crate) fn alive(&self) -> u64 {
        let book = self.book();
        book.made - book.dropped.len() as u64
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.book().dropped.len() as u64
    }

    /// Each value that was made is gone, and went once.
    #[track_caller]
    pub(crate) fn assert_all_gone(&self) {
        let book = self.book();
        assert_eq!(book.dropped.len() as u64, book.made, "made, but never dropped");
        assert!(book.dropped.values().all(|&times| times == 1), "dropped twice");
    }
}

pub(crate) struct Tracked {
    pub(crate) id: u64,
    ledger: Ledger,
}

impl Drop for Tracked {
    fn drop(&mut self) {
        *self.ledger.book().dropped.entry(self.id).or_default() += 1;
    }
}
