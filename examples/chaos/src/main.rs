//! A soak that tries to break dockhand pools, and prints one line of JSON.
//!
//! Threads play scripts that are drawn from a seed: they build pools with drawn settings, and do to them whatever their
//! users can do. Payloads, outputs, errors, panic values, wakers, hooks, thread-locals and the logger are counted, panic,
//! and call the pools from inside. A ledger for each pool keeps what was answered, told, shown and handed back; it is
//! checked when the last value of the pool is gone, the law after each shutdown.

#![forbid(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use crate::options::Options;

mod options;
mod run;
mod script;
mod yard;
mod settings;
mod acts;
mod offers;
mod hands;
mod handles;
mod alarm;
mod letters;
mod closing;
mod quiet;
mod closures;
mod pool;
mod book;
mod ledger;
mod cargo;
mod crew;
mod hooks;
mod mischief;
mod parting;
mod logger;
mod panics;
mod live;
mod threads;
mod findings;
mod totals;
mod watchdog;
mod patience;
mod report;

fn main() -> ExitCode {
    let options = Options::parse();
    let report = run::run(&options);
    let line = serde_json::to_string(&report).map_err(std::io::Error::from);
    let written = line.and_then(|line| writeln!(std::io::stdout(), "{line}"));
    match (written, report.is_good()) {
        (Ok(()), true) => ExitCode::SUCCESS,
        (Ok(()), false) => {
            findings::write("something did not hold; the report says what");
            ExitCode::FAILURE
        }
        (Err(error), _) => {
            findings::write(&format!("the report could not be written: {error}"));
            ExitCode::FAILURE
        }
    }
}
