//! Destructors of thread-locals: the last user code of a thread.

use std::cell::RefCell;
use std::sync::Arc;

use crate::book::Book;
use crate::mischief;
use crate::panics::contained;
use crate::totals;

struct Parting(Arc<Book>);

impl Drop for Parting {
    fn drop(&mut self) {
        totals::reached("thread_local_destructors");
        // A panic that leaves a destructor of a thread-local ends the process.
        let _ = contained(|| mischief::call(&self.0, &mut self.0.dice()));
    }
}

thread_local! {
    static PARTING: RefCell<Option<Parting>> = const { RefCell::new(None) };
}

/// Has the end of this thread use the pool.
pub(crate) fn leave_behind(book: &Arc<Book>) {
    let parting = Parting(Arc::clone(book));
    let replaced = PARTING.try_with(|place| place.borrow_mut().replace(parting));
    // What another pool left here says its piece now, and not in the borrow.
    drop(replaced);
}
