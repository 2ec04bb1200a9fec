//! A payload, an output and an error, each of which may panic where the pool lets go of it.

use super::script::{OnDrop, Plan, Trouble};
use super::world::World;
use crate::support::panic_quietly;
use dockhand::{Cause, Failure};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A panic value that panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_quietly();
    }
}

pub(super) fn explode() -> ! {
    std::panic::resume_unwind(Box::new(Bomb))
}

pub(super) struct Load {
    pub(super) world: Arc<World>,
    pub(super) number: u64,
    pub(super) plan: Plan,
    pub(super) calls: usize,
    is_with_pool: bool,
}

impl Load {
    pub(super) fn new(world: &Arc<World>, number: u64, plan: Plan) -> Self {
        Load { world: Arc::clone(world), number, plan, calls: 0, is_with_pool: true }
    }

    /// The pool has given it away.
    pub(super) fn take_home(mut self) {
        self.is_with_pool = false;
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.world.book.payload_dropped(self.number);
        if !self.is_with_pool || std::thread::panicking() {
            return;
        }
        match self.plan.on_drop {
            OnDrop::Nothing => {}
            OnDrop::Panic => {
                self.world.book.hook_panics();
                panic_quietly();
            }
            OnDrop::React => self.world.react(),
        }
    }
}

/// What an attempt comes to.
pub(super) struct Result {
    world: Arc<World>,
    trouble: Trouble,
    is_with_pool: AtomicBool,
}

impl Result {
    pub(super) fn new(world: &Arc<World>, trouble: Trouble) -> Self {
        world.book.result_made();
        Result { world: Arc::clone(world), trouble, is_with_pool: AtomicBool::new(true) }
    }

    pub(super) fn take_home(&self) {
        self.is_with_pool.store(false, Ordering::SeqCst);
    }
}

impl Drop for Result {
    fn drop(&mut self) {
        self.world.book.result_dropped();
        let is_with_pool = *self.is_with_pool.get_mut();
        if self.trouble == Trouble::DropPanics && is_with_pool && !std::thread::panicking() {
            self.world.book.hook_panics();
            panic_quietly();
        }
    }
}

impl fmt::Display for Result {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.trouble == Trouble::DisplayPanics && self.is_with_pool.load(Ordering::SeqCst) {
            self.world.book.hook_panics();
            panic_quietly();
        }
        f.write_str("as planned")
    }
}

pub(super) fn take_failure_home(failure: &Failure<Result>) {
    if let Cause::Error(error) = failure.cause() {
        error.take_home();
    }
}
