//! Reads a directory of files on a worker pool.
//!
//! A walker thread only finds files and offers them. Workers parse each one (lane `parse`), make a
//! thumbnail if it is a picture (lane `preview`), and tell an endpoint that it is finished (lane
//! `notify`). The table at the end accounts for every task; what failed for good is listed with
//! its file and reason.

#![forbid(unsafe_code)]

use std::io;

use clap::Parser;

use crate::options::Options;

mod digest;
mod endpoint;
mod error;
mod job;
mod media;
mod notify;
mod options;
mod pool;
mod previews;
mod processor;
mod progress;
mod report;
mod run;
mod summary;
mod tally;
mod text;
mod walk;

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let summary = run::run(&options)?;
    match report::write(&summary, options.json, &mut io::stdout().lock()) {
        // Whoever read the report has seen enough of it.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}
