//! Counts the instructions of a submit, a take and a finish with valgrind's callgrind, so that a regression shows
//! without the noise of a clock.
//!
//! ```text
//! cargo run --release -p counts                 each operation, beside what is expected of it
//! cargo run --release -p counts -- --check      the same; fails if one has grown by more than 15 %
//! cargo run --release -p counts -- --write      keeps the counts as the expected ones
//! cargo run --release -p counts -- --run NAME N what callgrind sees of one row: for a profile of it
//! ```
//!
//! The command runs itself under callgrind, with N and with 2 N operations. The difference is what N of them cost:
//! start, set-up and end cancel out. A count depends on the compiler and on the libraries that are linked, not on the
//! machine's load.

#![allow(clippy::print_stdout, reason = "a command that tells what it finds")]

mod callgrind;
mod expected;
mod plugged;
mod scenario;
mod stepped;

use anyhow::{Context, anyhow, bail};
use expected::Table;
use scenario::{SCENARIOS, Scenario};
use std::process::ExitCode;

/// Operations of a run; a multiple of the ids that a thread takes at once and of the tasks between two that are timed.
const OPERATIONS: u64 = 2_048;

/// How often all of it is counted before a growth is believed.
const RUNS: usize = 3;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        [] => count().map(|_| ()),
        ["--check"] => check(),
        ["--write"] => write(),
        ["--run", name, operations] => run(name, operations),
        _ => Err(anyhow!("usage: counts [--check | --write | --run NAME N]")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Counts and prints all rows.
fn count() -> anyhow::Result<Table> {
    let counted = Table::of(callgrind::count_all(SCENARIOS, OPERATIONS)?);
    let expected = Table::read()?;
    println!("{:>8}  {:>8}   instructions", "counted", "expected");
    for (name, count) in counted.rows() {
        let known = expected.get(name).map_or("new".to_owned(), |known| format!("{known:.1}"));
        println!("{count:>8.1}  {known:>8}   {name}");
    }
    Ok(counted)
}

fn check() -> anyhow::Result<()> {
    let expected = Table::read()?;
    let mut counted = count()?;
    let mut complaints = expected::complaints(&expected, &counted);
    // On a busy machine threads meet where they do not on a quiet one. What an operation takes itself it takes every time.
    for _ in 1..RUNS {
        if complaints.is_empty() {
            return Ok(());
        }
        counted = counted.least(&count()?);
        complaints = expected::complaints(&expected, &counted);
    }
    if complaints.is_empty() {
        return Ok(());
    }
    bail!("{}\nIf it has to be so: cargo run --release -p counts -- --write", complaints.join("\n"))
}

fn write() -> anyhow::Result<()> {
    count()?.write()
}

/// The side that callgrind watches.
fn run(name: &str, operations: &str) -> anyhow::Result<()> {
    let scenario = Scenario::named(name).with_context(|| format!("there is no row {name:?}"))?;
    (scenario.run)(operations.parse()?);
    Ok(())
}
