//! What the pools carry: payloads, outputs and errors, each counted, each with a `Drop` that may do mischief.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::Instant;

use fastrand::Rng;

use crate::book::Book;
use crate::live::{Kind, Live};
use crate::mischief;
use crate::panics::blow;
use crate::pool::Pool;

static NUMBERS: AtomicU64 = AtomicU64::new(0);

/// A payload.
pub(crate) struct Cargo {
    pub(crate) number: u64,
    pub(crate) book: Arc<Book>,
    /// What its attempts do is drawn from this.
    pub(crate) seed: u64,
    /// How many submits led to it; the last ones submit nothing.
    pub(crate) generation: u8,
    /// What the first attempt lets go of: perhaps the last hold on the pool.
    pub(crate) ballast: Option<Arc<Pool>>,
    /// Says when its attempt started; does nothing else then.
    pub(crate) probe: Option<Sender<Instant>>,
    _live: Live,
}

impl Cargo {
    pub(crate) fn new(book: &Arc<Book>, rng: &mut Rng, generation: u8) -> Self {
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        book.ledger().made(number);
        Cargo {
            number,
            book: Arc::clone(book),
            seed: rng.u64(..),
            generation,
            ballast: None,
            probe: None,
            _live: Live::new(Kind::Payload),
        }
    }
}

impl Drop for Cargo {
    fn drop(&mut self) {
        self.book.ledger().dropped(self.number);
        mischief::seldom(&self.book);
    }
}

/// An output.
pub(crate) struct Receipt {
    book: Arc<Book>,
    _live: Live,
}

impl Receipt {
    pub(crate) fn new(book: &Arc<Book>) -> Self {
        Receipt { book: Arc::clone(book), _live: Live::new(Kind::Output) }
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        mischief::seldom(&self.book);
    }
}

/// An error, of which the text may panic too.
pub(crate) struct Fault {
    book: Arc<Book>,
    _live: Live,
}

impl Fault {
    pub(crate) fn new(book: &Arc<Book>) -> Self {
        Fault { book: Arc::clone(book), _live: Live::new(Kind::Error) }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        mischief::seldom(&self.book);
        f.write_str("as drawn")
    }
}

impl Drop for Fault {
    fn drop(&mut self) {
        mischief::seldom(&self.book);
    }
}

/// What a hook has captured: gone when the pool lets go of it.
pub(crate) struct Captured {
    pub(crate) book: Arc<Book>,
    _live: Live,
}

impl Captured {
    pub(crate) fn new(book: &Arc<Book>) -> Self {
        Captured { book: Arc::clone(book), _live: Live::new(Kind::Captured) }
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        let mut rng = self.book.dice();
        if rng.u32(..20) == 0 && !self.book.is_calm() && !std::thread::panicking() {
            blow(&mut rng);
        }
    }
}
