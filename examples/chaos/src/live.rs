//! How many of the user's values are alive.

use std::sync::atomic::{AtomicI64, Ordering};

/// What is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Payload,
    Output,
    Error,
    PanicValue,
    Waker,
    /// What a processor, hook or closure has captured.
    Captured,
}

const KINDS: [Kind; 6] =
    [Kind::Payload, Kind::Output, Kind::Error, Kind::PanicValue, Kind::Waker, Kind::Captured];

static ALIVE: [AtomicI64; KINDS.len()] = [const { AtomicI64::new(0) }; KINDS.len()];

/// Lives in each value that is counted.
#[derive(Debug)]
pub(crate) struct Live(Kind);

impl Live {
    pub(crate) fn new(kind: Kind) -> Self {
        ALIVE[kind as usize].fetch_add(1, Ordering::Relaxed);
        Live(kind)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        ALIVE[self.0 as usize].fetch_sub(1, Ordering::Relaxed);
    }
}

pub(crate) fn alive() -> i64 {
    ALIVE.iter().map(|alive| alive.load(Ordering::SeqCst)).sum()
}

/// Of each kind, for whoever looks for what was left.
pub(crate) fn by_kind() -> String {
    let of = |kind: Kind| format!("{kind:?}: {}", ALIVE[kind as usize].load(Ordering::SeqCst));
    KINDS.map(of).join(", ")
}
