//! Destructors of thread-locals: the last user code of a thread.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use crate::book::Book;
use crate::mischief;
use crate::panics::contained;
use crate::totals;

struct Parting(Arc<Book>);

impl Drop for Parting {
    fn drop(&mut self) {
        totals::reached("thread_local_destructors");
        let before = AT_IT.replace(true);
        // A panic that leaves a destructor of a thread-local ends the process.
        let _ = contained(|| mischief::call(&self.0, &mut self.0.dice()));
        AT_IT.set(before);
    }
}

thread_local! {
    /// Without a destructor of its own, so that it is there as long as the thread.
    static AT_IT: Cell<bool> = const { Cell::new(false) };
    static PARTING: RefCell<Option<Parting>> = const { RefCell::new(None) };
}

/// Whether this thread says its last words.
pub(crate) fn is_at_it() -> bool {
    AT_IT.get()
}

/// Has the end of this thread use the pool.
pub(crate) fn leave_behind(book: &Arc<Book>) {
    if is_another_pools_worker(book) {
        // Two workers that end each other's pools with their last words join each other.
        return;
    }
    let parting = Parting(Arc::clone(book));
    let replaced = PARTING.try_with(|place| place.borrow_mut().replace(parting));
    // What another pool left here says its piece now, and not in the borrow.
    drop(replaced);
}

/// Named threads are workers, and begin with the name of their pool.
fn is_another_pools_worker(book: &Book) -> bool {
    std::thread::current().name().is_some_and(|name| !book.owns_thread(name))
}
