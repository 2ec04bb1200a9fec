//! Counts what is allocated, while it is told to.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

static COUNTS: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicI64 = AtomicI64::new(0);

/// The system's allocator. It counts only within [`counted`]: two shared counters for each allocation would slow down
/// exactly those peers that box their tasks.
#[derive(Debug)]
pub struct Counting;

fn note(allocations: u64, bytes: i64) {
    if COUNTS.load(Ordering::Relaxed) {
        ALLOCATIONS.fetch_add(allocations, Ordering::Relaxed);
        BYTES.fetch_add(bytes, Ordering::Relaxed);
    }
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

// SAFETY: every call is handed on to the system's allocator as it came; counting touches no memory of the callers.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(1, signed(layout.size()));
        // SAFETY: the caller keeps to the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(1, signed(layout.size()));
        // SAFETY: the caller keeps to the contract of `alloc_zeroed`, which is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(1, signed(size) - signed(layout.size()));
        // SAFETY: the caller keeps to the contract of `realloc`, which is the same.
        unsafe { System.realloc(old, layout, size) }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        note(0, -signed(layout.size()));
        // SAFETY: the caller keeps to the contract of `dealloc`, which is the same.
        unsafe { System.dealloc(old, layout) }
    }
}

/// What the whole process allocated in a while.
#[derive(Clone, Copy, Debug)]
pub struct Allocated {
    /// Calls of `alloc` and `realloc`.
    pub allocations: u64,
    /// Bytes asked for and not given back.
    pub bytes: i64,
}

/// Counts what the process allocates during `f`. Zero unless [`Counting`] is the global allocator.
pub fn counted(f: impl FnOnce()) -> Allocated {
    ALLOCATIONS.store(0, Ordering::Relaxed);
    BYTES.store(0, Ordering::Relaxed);
    COUNTS.store(true, Ordering::Relaxed);
    f();
    COUNTS.store(false, Ordering::Relaxed);
    Allocated { allocations: ALLOCATIONS.load(Ordering::Relaxed), bytes: BYTES.load(Ordering::Relaxed) }
}
