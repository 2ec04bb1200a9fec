//! One binary, one module per promise.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;
