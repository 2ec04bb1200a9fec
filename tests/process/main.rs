//! What a pool does where its process is short of something, or ends: each case runs in a process of its own.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod at_end;
mod child;
mod clock;
mod entries;
mod exit;
mod exit_inside;
mod exit_locals;
mod exit_unwinding;
mod fork;
mod gone_locals;
mod logger;
mod memory;
#[path = "../it/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "shared with the binary that uses all of it")]
mod support;
mod texts;
mod threads;
