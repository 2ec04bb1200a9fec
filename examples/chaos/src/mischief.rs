//! What user code does besides its work: it panics, leaves stale tokens, sleeps, and calls the pool from inside.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;

use crate::acts::{self, Act, Scene};
use crate::book::Book;
use crate::panics::blow;

/// Calls that lead to calls end here.
const DEEPEST: u32 = 3;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// For an attempt.
pub(crate) fn often(book: &Arc<Book>) {
    maybe(book, 3);
}

/// For hooks, drops, texts and wakers, of which a task has many.
pub(crate) fn seldom(book: &Arc<Book>) {
    maybe(book, 1);
}

fn maybe(book: &Arc<Book>, likely: u32) {
    if book.is_calm() || std::thread::panicking() {
        return;
    }
    let mut rng = book.dice();
    match rng.u32(..1000) / likely {
        0..8 => blow(&mut rng),
        8..16 => std::thread::current().unpark(),
        16..18 => std::thread::sleep(Duration::from_micros(rng.u64(..300))),
        18..34 => call(book, &mut rng),
        _ => {}
    }
}

/// Does to the pool what its users do, from where the call comes.
pub(crate) fn call(book: &Arc<Book>, rng: &mut Rng) {
    let depth = DEPTH.try_with(|depth| depth.replace(depth.get() + 1)).unwrap_or(DEEPEST);
    if depth < DEEPEST {
        if let Some(pool) = book.pool() {
            let act = Act::inside(rng);
            acts::run(act, Scene { pool, rng, hands: None });
        } else if let Some(submitter) = book.submitter() {
            acts::offer(book, &submitter, rng);
        }
    }
    let _ = DEPTH.try_with(|place| place.set(depth));
}
