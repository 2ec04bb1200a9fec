//! Takes lines away from the protocols, one at a time, and expects a loom model to notice.
//!
//! ```text
//! cargo run -p mutants                 all of them, after the models on the code as it is
//! cargo run -p mutants -- WORD         those with the word in their name or file
//! cargo run -p mutants -- --list       what there is
//! ```
//!
//! A mutant that survives says that a line is not needed, or that no model shows what it is for.

#![allow(clippy::print_stdout, reason = "a command that tells what it finds")]

mod scratch;
mod table;

use scratch::{Scratch, Verdict};
use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use table::Mutant;

/// Longer than any model takes on a busy machine.
const LONGEST_RUN: Duration = Duration::from_secs(300);

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let word = words.next();
    let result = match word.as_deref() {
        Some("--list") => {
            list();
            Ok(true)
        }
        word => run(word),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn list() {
    for Mutant { name, file, test, purpose, .. } in table::all() {
        println!("{name}\n    {file}, seen by {test}: {purpose}");
    }
}

/// True if no mutant survived.
fn run(word: Option<&str>) -> Result<bool, Box<dyn Error>> {
    let chosen: Vec<&Mutant> = table::all().filter(|mutant| mutant.matches(word)).collect();
    if chosen.is_empty() {
        return Err("no mutant has that word in its name or file".into());
    }
    let scratch = Scratch::new()?;
    for mutant in &chosen {
        // Whether its text is there is said before minutes of work.
        scratch.with(mutant, || Ok(()))?;
    }
    check_unmutated(&scratch, &chosen)?;
    let start = Instant::now();
    let mut survivors = 0;
    for mutant in &chosen {
        survivors += usize::from(!try_one(&scratch, mutant)?);
    }
    let killed = chosen.len() - survivors;
    println!("{killed} killed, {survivors} survived, in {:.0?}", start.elapsed());
    Ok(survivors == 0)
}

/// A model that fails anyway would kill every mutant.
fn check_unmutated(scratch: &Scratch, chosen: &[&Mutant]) -> Result<(), Box<dyn Error>> {
    let program = scratch.build()?;
    let mut tests: Vec<&str> = chosen.iter().map(|mutant| mutant.test).collect();
    tests.sort_unstable();
    tests.dedup();
    for test in tests {
        let start = Instant::now();
        match program.run(test, LONGEST_RUN)? {
            Verdict::Passed => println!("passes    {test} ({:.1?})", start.elapsed()),
            other => return Err(format!("{test} on the code as it is: {other}").into()),
        }
    }
    Ok(())
}

/// True if it was killed.
fn try_one(scratch: &Scratch, mutant: &Mutant) -> Result<bool, Box<dyn Error>> {
    let (verdict, took) = scratch.with(mutant, || {
        let built = scratch.build();
        let program = built.map_err(|error| format!("{} does not compile: {error}", mutant.name))?;
        let start = Instant::now();
        Ok((program.run(mutant.test, LONGEST_RUN)?, start.elapsed()))
    })?;
    let killed = matches!(verdict, Verdict::Failed(_));
    let word = if killed { "killed  " } else { "SURVIVED" };
    println!("{word}  {} by {} ({took:.1?}): {verdict}", mutant.name, mutant.test);
    Ok(killed)
}
