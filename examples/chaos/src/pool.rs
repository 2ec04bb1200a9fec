//! A pool under test, with or without threads, and the register of those that live.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use dockhand::{ManualPool, WorkerPool};

use crate::book::Book;
use crate::crew::Crew;
use crate::totals;

pub(crate) enum Kind {
    Threaded(WorkerPool<Crew>),
    Manual(ManualPool<Crew>),
}

pub(crate) struct Pool {
    kind: Kind,
    pub(crate) book: Arc<Book>,
}

static LIVE: Mutex<Vec<(String, Weak<Pool>)>> = Mutex::new(Vec::new());

impl Pool {
    /// Puts a pool into the register.
    pub(crate) fn new(kind: Kind, book: Arc<Book>) -> Arc<Self> {
        let pool = Arc::new(Pool { kind, book });
        pool.book.found(Arc::downgrade(&pool));
        let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
        live.retain(|(_, other)| other.strong_count() > 0);
        live.push((pool.book.name.clone(), Arc::downgrade(&pool)));
        pool
    }

    pub(crate) fn manual(&self) -> Option<&ManualPool<Crew>> {
        match &self.kind {
            Kind::Threaded(_) => None,
            Kind::Manual(pool) => Some(pool),
        }
    }
}

impl Deref for Pool {
    type Target = WorkerPool<Crew>;

    fn deref(&self) -> &WorkerPool<Crew> {
        match &self.kind {
            Kind::Threaded(pool) => pool,
            Kind::Manual(pool) => pool,
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let thread = std::thread::current();
        let own_prefix = format!("{}-", self.book.name);
        if thread.name().is_some_and(|name| name.starts_with(&own_prefix)) {
            totals::reached("dropped_on_own_worker");
        }
        self.book.let_go();
    }
}

/// The pools that somebody still holds.
pub(crate) fn live() -> Vec<Arc<Pool>> {
    let weak: Vec<_> = {
        let live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
        live.iter().map(|(_, pool)| Weak::clone(pool)).collect()
    };
    weak.iter().filter_map(Weak::upgrade).collect()
}

/// The names in the register, those of pools that are being dropped included.
pub(crate) fn names() -> Vec<String> {
    let live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
    live.iter().map(|(name, _)| name.clone()).collect()
}
