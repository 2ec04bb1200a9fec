//! Wakers, which are user code too: they panic and call the pool as they wake and as they are dropped.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use dockhand::TaskHandle;

use crate::book::Book;
use crate::crew::Crew;
use crate::findings;
use crate::handles::{A_WHILE, Answer, has_to_end};
use crate::live::{Kind, Live};
use crate::mischief;
use crate::panics::discard;
use crate::patience::Patience;

struct Alarm {
    book: Arc<Book>,
    sleeper: Thread,
    rang: Arc<AtomicBool>,
    _live: Live,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.rang.store(true, Ordering::SeqCst);
        self.sleeper.unpark();
        mischief::seldom(&self.book);
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        mischief::seldom(&self.book);
    }
}

fn alarm(book: &Arc<Book>) -> (Waker, Arc<AtomicBool>) {
    let rang = Arc::new(AtomicBool::new(false));
    let alarm = Alarm {
        book: Arc::clone(book),
        sleeper: std::thread::current(),
        rang: Arc::clone(&rang),
        _live: Live::new(Kind::Waker),
    };
    (Waker::from(Arc::new(alarm)), rang)
}

fn poll(handle: &mut TaskHandle<Crew>, waker: &Waker) -> Option<Answer> {
    match Pin::new(handle).poll(&mut Context::from_waker(waker)) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

/// One poll, which may leave a waker behind.
pub(crate) fn poll_once(book: &Arc<Book>, handle: &mut TaskHandle<Crew>) -> Option<Answer> {
    let (waker, _) = alarm(book);
    let answer = poll(handle, &waker);
    discard(waker);
    answer
}

/// Awaits on this thread; `None` where the end need not come.
pub(crate) fn block_on(book: &Arc<Book>, handle: &mut TaskHandle<Crew>) -> Option<Answer> {
    let mut waited_for: Option<Arc<AtomicBool>> = None;
    loop {
        let (waker, rang) = alarm(book);
        let answer = poll(handle, &waker);
        discard(waker);
        if answer.is_some() {
            if waited_for.is_some_and(|rang| !has_rung(&rang)) {
                findings::other(format!("{}: an answer without a wake", book.name));
            }
            return answer;
        }
        if !has_to_end(book) {
            return None;
        }
        waited_for = Some(rang);
        std::thread::park_timeout(A_WHILE);
    }
}

/// The answer is there a moment before the waker is woken.
fn has_rung(rang: &AtomicBool) -> bool {
    let mut patience = Patience::new();
    loop {
        if rang.load(Ordering::SeqCst) {
            return true;
        }
        if !patience.lasts() {
            return false;
        }
    }
}
