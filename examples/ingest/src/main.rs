//! Reads a directory of files on a worker pool.
//!
//! A walker thread only finds files and offers them. Workers parse each one (lane `parse`), make a
//! thumbnail if it is a picture (lane `preview`), and tell an endpoint that it is finished (lane
//! `notify`). The table at the end accounts for every task; what failed for good is listed with
//! its file and reason. The exit codes are listed in the README.

#![forbid(unsafe_code)]

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;

use crate::options::Options;
use crate::plain::{plain, say};

mod digest;
mod endpoint;
mod error;
mod folder;
mod job;
mod media;
mod notify;
mod options;
mod plain;
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

/// An interrupted run, by the custom of shells: 128 and the number of SIGINT.
const INTERRUPTED: u8 = 130;
/// A command line that cannot be understood, as clap has it.
const MISUSED: u8 = 2;

fn main() -> ExitCode {
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(answer) if !answer.use_stderr() => answer.exit(),
        Err(error) => {
            // An argument may be the name of a file, from a pattern that the shell filled in.
            for line in error.render().to_string().lines() {
                let _ = writeln!(io::stderr(), "{}", plain(line));
            }
            return MISUSED.into();
        }
    };
    ingest(&options).unwrap_or_else(|error| {
        say(&format!("{error:#}"));
        ExitCode::FAILURE
    })
}

fn ingest(options: &Options) -> anyhow::Result<ExitCode> {
    let summary = run::run(options)?;
    match report::write(&summary, options.json, &mut io::stdout().lock()) {
        // Whoever read the report has seen enough of it.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        written => written.context("cannot write the report")?,
    }
    summary.exposed?;
    Ok(if summary.interrupted { INTERRUPTED.into() } else { ExitCode::SUCCESS })
}
