//! What can be said on the command line.

use std::num::{NonZeroU64, NonZeroUsize};

use clap::Parser;

/// Tries to break dockhand pools from several threads, and prints what came of it as one line of JSON.
///
/// Exits with 1 if anything did not hold; standard error says what. A hang ends the process with the state of every pool.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Options {
    /// How long to go on.
    #[arg(long, default_value = "10")]
    pub(crate) seconds: NonZeroU64,

    /// What the threads' scripts are drawn from. The same seed gives the same scripts; how they interleave is not fixed.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,

    /// Workers of each pool [default: 1 to 4, drawn].
    #[arg(long)]
    pub(crate) workers: Option<NonZeroUsize>,

    /// Threads that use the pools.
    #[arg(long, default_value = "4")]
    pub(crate) threads: NonZeroUsize,
}
