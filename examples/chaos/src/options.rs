//! What can be said on the command line.

use clap::Parser;
use clap::builder::RangedU64ValueParser;

/// A year, in seconds.
const LONGEST: u64 = 365 * 24 * 3600;
/// More threads than this show nothing that fewer do not.
const MOST: u64 = 1024;

/// Tries to break dockhand pools from several threads, and prints what came of it as one line of JSON.
///
/// Exits with 1 if anything did not hold, and with 2 if an option makes no sense; standard error says what. A hang ends the process with the state of every pool.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Options {
    /// How long to go on.
    #[arg(long, default_value = "10", value_parser = RangedU64ValueParser::<u64>::new().range(1..=LONGEST))]
    pub(crate) seconds: u64,

    /// What the threads' scripts are drawn from. The same seed gives the same scripts; how they interleave is not fixed.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,

    /// Workers of each pool [default: 1 to 4, drawn].
    #[arg(long, value_parser = RangedU64ValueParser::<usize>::new().range(1..=MOST))]
    pub(crate) workers: Option<usize>,

    /// Threads that use the pools.
    #[arg(long, default_value = "4", value_parser = RangedU64ValueParser::<usize>::new().range(1..=MOST))]
    pub(crate) threads: usize,
}
