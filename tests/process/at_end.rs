//! Code that runs in the destructor of a thread-local.

use std::cell::RefCell;

thread_local! {
    static AT_END: RefCell<Option<Deferred>> = const { RefCell::new(None) };
}

struct Deferred(Option<Box<dyn FnOnce()>>);

impl Drop for Deferred {
    fn drop(&mut self) {
        // A panic in a destructor of a thread-local aborts the process.
        if let Some(run) = self.0.take() {
            run();
        }
    }
}

/// Has a destructor of this thread run it.
pub(crate) fn at_end(run: impl FnOnce() + 'static) {
    AT_END.set(Some(Deferred(Some(Box::new(run)))));
}

/// Thread-locals are destroyed in the reverse order of their first uses, so what is used first outlives the rest.
pub(crate) fn outlive_what_follows() {
    AT_END.with(|_| ());
}
