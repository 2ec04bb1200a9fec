//! The guard around all code of the user's that is not an attempt: hooks, `Drop`, `Display`, the logger.
//!
//! Whatever runs here runs under no lock, and a panic stops at the guard and is counted. Of a text only the beginning is
//! kept.

use std::any::Any;
use std::fmt::{self, Display, Formatter, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Catches and counts what panics outside of attempts.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    panics: AtomicU64,
}

impl Guard {
    pub(crate) fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    /// The answer of `f`, or `None` if it panicked.
    pub(crate) fn run<R>(&self, f: impl FnOnce() -> R) -> Option<R> {
        match catch_unwind(AssertUnwindSafe(f)) {
            Ok(answer) => Some(answer),
            Err(value) => {
                self.panics.fetch_add(1, Ordering::Relaxed);
                discard(value);
                None
            }
        }
    }

    /// Drops a value whose `Drop` may panic. Values of one task are dropped one by one, so that no two of them panic
    /// in one unwinding, which would abort the process.
    pub(crate) fn drop<T>(&self, value: T) {
        if std::mem::needs_drop::<T>() {
            self.run(|| drop(value));
        }
    }

    /// The text of something whose `Display` may panic.
    pub(crate) fn text(&self, value: &dyn Display) -> Arc<str> {
        self.run(|| Arc::from(value.to_string())).unwrap_or_else(|| Arc::from("its Display panicked"))
    }
}

/// The message of a panic, without the panic value.
pub(crate) fn panic_message(value: Box<dyn Any + Send>) -> Box<str> {
    let text = if let Some(text) = value.downcast_ref::<&'static str>() {
        text
    } else if let Some(text) = value.downcast_ref::<String>() {
        text.as_str()
    } else {
        "a panic value that is no text"
    };
    let message = Cut(text).to_string().into_boxed_str();
    discard(value);
    message
}

/// How much is kept of one text, in bytes.
const KEPT: usize = 4096;

/// Shows the first [`KEPT`] bytes of a text, to the end of a character, and the length of one that was longer. The rest is
/// counted as it is written and never built.
pub(crate) struct Cut<T>(pub(crate) T);

impl<T: Display> Display for Cut<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut beginning = Beginning { out: f, kept: 0, length: 0 };
        // A `Display` that fails ends its text.
        let _ = write!(beginning, "{}", self.0);
        let Beginning { out, kept, length } = beginning;
        if length > kept { write!(out, "… ({length} bytes)") } else { Ok(()) }
    }
}

struct Beginning<'a, 'f> {
    out: &'a mut Formatter<'f>,
    kept: usize,
    length: usize,
}

impl Write for Beginning<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // What follows something that was left out is left out too.
        if self.kept == self.length {
            let room = text.len().min(KEPT - self.kept);
            let end = (0..=room).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            self.out.write_str(&text[..end])?;
            self.kept += end;
        }
        self.length = self.length.saturating_add(text.len());
        Ok(())
    }
}

/// Drops a panic value; if that panics too, the second value is leaked rather than dropped.
pub(crate) fn discard(value: Box<dyn Any + Send>) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        std::mem::forget(second);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::panic_any;

    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic_any(Bomb);
        }
    }

    #[test]
    fn a_panic_value_whose_drop_panics_is_forgotten() {
        let guard = Guard::default();
        assert!(guard.run(|| panic_any(Bomb)).is_none());
        guard.drop(Bomb);
        assert_eq!(guard.panics(), 2);
    }

    #[test]
    fn messages_are_kept_for_both_kinds_of_text() {
        let caught = |f: fn()| catch_unwind(f).expect_err("it panics");
        assert_eq!(&*panic_message(caught(|| panic!("fixed"))), "fixed");
        assert_eq!(&*panic_message(caught(|| panic!("{}", 1))), "1");
        assert_eq!(&*panic_message(caught(|| panic_any(1))), "a panic value that is no text");
    }

    #[test]
    fn a_display_that_panics_gives_a_text_all_the_same() {
        struct Mute;
        impl Display for Mute {
            fn fmt(&self, _: &mut Formatter<'_>) -> fmt::Result {
                panic!("no words")
            }
        }
        let guard = Guard::default();
        assert_eq!(&*guard.text(&Mute), "its Display panicked");
        assert_eq!(guard.panics(), 1);
    }
}
