//! The text of an error may be as long as it likes: what the library keeps and logs of it fits into little memory.

use crate::child::Start;
use crate::support::{LONG, assert_rest};
use dockhand::{RetryPolicy, TaskContext, WorkerPool, processor_fn};
use std::fmt::{self, Display, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// What a process may have: a sixteenth of the texts of one test, and of the one text of the other.
const LIMIT: u64 = 64 << 20;
const PIECE: &str = match std::str::from_utf8(&[b'x'; 1 << 16]) {
    Ok(text) => text,
    Err(_) => "",
};
/// What is kept of a text with its length, and what a record says around it.
const MOST: usize = 4096 + 256;

/// No bytes as a value, `PIECES` times 64 KiB as a text.
#[derive(Debug)]
struct Long<const PIECES: usize>;

impl<const PIECES: usize> Display for Long<PIECES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (0..PIECES).try_for_each(|_| f.write_str(PIECE))
    }
}

#[test]
fn a_thousand_letters_with_texts_of_a_mebibyte_take_what_their_beginnings_take() {
    let Some(ended) = Start::default().memory(LIMIT).run(|_| fail_with::<16>(1024)) else { return };
    ended.assert_code(0);
}

#[test]
fn a_text_that_fits_nowhere_is_never_built() {
    let Some(ended) = Start::default().memory(LIMIT).run(|_| fail_with::<{ 1 << 16 }>(1)) else { return };
    ended.assert_code(0);
}

fn fail_with<const PIECES: usize>(letters: usize) {
    log::set_logger(&Measures).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
    let fail = |_: &mut (), _: &TaskContext<'_, ()>| Err::<(), _>(Long::<PIECES>);
    let retry = RetryPolicy::fixed(Duration::ZERO).max_retries(1);
    let builder = WorkerPool::builder(processor_fn(fail)).workers(1).retry(retry);
    let pool = builder.queue_capacity(letters).dead_letter_capacity(letters).build().unwrap();
    for _ in 0..letters {
        pool.submit(()).into_result().unwrap();
    }
    pool.wait_idle(LONG).unwrap();
    let list = pool.dead_letters().list();
    assert_eq!(list.len(), letters);
    let end = format!("… ({} bytes)", PIECES * PIECE.len());
    for info in list {
        assert!(info.error.len() < MOST && info.error.ends_with(&end), "{}", info.error);
    }
    let longest = LONGEST.load(Ordering::SeqCst);
    assert!(longest > 4096 && longest < MOST, "a record of {longest} bytes");
    assert_eq!(pool.metrics().hook_panics, 0);
    assert_rest(&pool);
}

/// The longest record, in bytes.
static LONGEST: AtomicUsize = AtomicUsize::new(0);

struct Measures;

impl log::Log for Measures {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let mut length = Length(0);
        write!(length, "{}", record.args()).unwrap();
        LONGEST.fetch_max(length.0, Ordering::SeqCst);
    }

    fn flush(&self) {}
}

struct Length(usize);

impl Write for Length {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}
