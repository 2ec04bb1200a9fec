//! A pool under test, with or without threads, and the register of those that live.

use std::cell::Cell;
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
        if thread.name().is_some_and(|name| self.book.owns_thread(name)) {
            totals::reached("dropped_on_own_worker");
        }
        self.book.let_go();
    }
}

thread_local! {
    /// The manual pool, by its address, that this thread may be in a turn of.
    static STEPPED: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The calling thread does something that may step the pool, if that is a manual one.
pub(crate) struct Stepping {
    before: Option<usize>,
}

impl Stepping {
    /// `None` for a second manual pool inside the first: of two threads that step two of them, each in a turn of the other's,
    /// each would wait for the other's turn to end, as with two locks.
    pub(crate) fn begin(pool: &Pool) -> Option<Self> {
        let before = STEPPED.get();
        if pool.manual().is_some() {
            let own = std::ptr::from_ref(pool).addr();
            if before.is_some_and(|other| other != own) {
                return None;
            }
            STEPPED.set(Some(own));
        }
        Some(Stepping { before })
    }
}

impl Drop for Stepping {
    fn drop(&mut self) {
        STEPPED.set(self.before);
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
