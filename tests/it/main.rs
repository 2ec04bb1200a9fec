//! One binary, one module per promise.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod a01;
mod a02;
mod a03;
mod a04;
mod a05;
mod a05_closed;
mod a06;
mod a06_drops;
mod a06_log;
mod a10;
mod a10_drop;
mod a10_drop_inside;
mod a10_ends;
mod a15;
mod a16;
mod batches;
mod lanes;
mod letters;
mod overload;
mod payloads;
mod programs;
mod properties;
mod support;
