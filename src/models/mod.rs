//! Loom models of the protocols: every order of the steps of a few threads, and every stale read that the orderings
//! allow, up to a number of preemptions.
//!
//! There are two kinds. Most drive the real modules of one protocol (`sleep`, `word`, `gate`, `room`, `idle`, `delay`,
//! `timer`, `drain`, `permits`, `stage`, `slot`). Stand-ins are a queue that loom can see into (`Ring` for
//! `ArrayQueue`), a clock that a model moves, and the few lines of glue in `shared`, `worker`, `submit` and `shutdown`,
//! which repeat their originals line by line and name them. The others (`attempts`, `cancel`, `keys`, `ways_in`) run the
//! library itself on threads of loom, with nothing repeated; see `library`.
//!
//! ```text
//! RUSTFLAGS="--cfg dockhand_loom" cargo test --profile loom --lib models -- --test-threads 1 --nocapture
//! ```
//!
//! One at a time, since loom maps memory for each thread of each order: side by side they take twice as long.
//!
//! What a line is for shows in `tools/mutants`, which takes it away and expects one of these models to fail.
//!
//! What loom cannot do, and what that means here:
//!
//! - It takes a `SeqCst` access as `AcqRel`. So the proofs rest on `SeqCst` fences alone, which it knows.
//! - It does not see into `ArrayQueue`. `Ring` is weaker than that, so what holds on it holds. In the library itself a push
//!   or a pop is one step that makes nothing else visible: no order of steps inside the queue is tried, and a model may
//!   not rest on what a pop makes visible (the look of a worker, which is in `idle` and `window`).
//! - It has no time. A wait with a deadline is one without, and a model's clock wakes the timer.
//! - It has no thread-locals of its own: all threads of a model are in the same frames of `inside`, so no hook of a model
//!   may block.
//! - It runs five threads at most, and the orders grow fast. Each model has a bound on preemptions, of one to three;
//!   `LOOM_MAX_PREEMPTIONS` asks for more. A fault that needs more is not seen.
//! - It tries two steps in both orders if both touch one thing that it sees. A load beside a later store of a thread that
//!   loads first is not tried in every order: the reader is the last thread where that matters, or the models of one
//!   protocol, whose queue is seen, stand for the library's.
//! - A bound on steps ends a loop without end; it fails like a deadlock.

mod attempts;
mod cancel;
mod closing;
mod delay;
mod gate;
mod idle;
mod inside;
mod keys;
mod lane;
mod library;
mod permits;
mod pool;
mod ring;
mod room;
mod shared;
mod shutdown;
mod sleep;
mod slot;
mod submit;
mod timer;
mod tracked;
mod ways_in;
mod window;
mod worker;

use crate::sync::{Condvar, Mutex};
use ring::Ring;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64 as Counter, Ordering};

/// Runs `model` in every order with at most so many preemptions. A deadlock, a panic or a loop without end fails.
fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    // `LOOM_MAX_PREEMPTIONS` asks for more, or for fewer.
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    builder.max_branches = 5_000;
    let executions = Arc::new(Counter::new(0));
    let counted = Arc::clone(&executions);
    let start = std::time::Instant::now();
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        model();
    });
    tell(executions.load(Ordering::Relaxed), start.elapsed());
}

#[expect(clippy::print_stderr, reason = "the size of a model is worth knowing, and has no other way out")]
fn tell(executions: u64, took: std::time::Duration) {
    let name = std::thread::current().name().unwrap_or_default().to_string();
    eprintln!("{name}: {executions} executions in {:.1} s", took.as_secs_f64());
}

/// What a model is about has happened: how its threads come to their end is explored by others.
fn only_the_end_is_left() {
    loom::stop_exploring();
}

/// A thread of the model that shares `with`.
fn spawn<S: Send + Sync + 'static, R: 'static>(
    with: &Arc<S>,
    run: impl FnOnce(&S) -> R + 'static,
) -> loom::thread::JoinHandle<R> {
    let with = Arc::clone(with);
    loom::thread::spawn(move || run(&with))
}

fn join<R>(thread: loom::thread::JoinHandle<R>) -> R {
    thread.join().expect("a thread of the model panicked")
}

/// Closed until somebody opens it: how a task of a model waits for another.
#[derive(Default)]
struct Latch {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Latch {
    fn open(&self) {
        *self.is_open.lock() = true;
        self.opened.notify_all();
    }

    fn wait(&self) {
        let mut is_open = self.is_open.lock();
        while !*is_open {
            is_open = self.opened.wait(is_open);
        }
    }
}
