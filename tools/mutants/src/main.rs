//! Takes lines away from the protocols, one at a time, and expects the loom models that are named for it to notice.
//!
//! ```text
//! cargo run -p mutants                 all of them, after the models on the code as it is
//! cargo run -p mutants -- WORD ...     those with one of the words in their name, their file or a model of theirs
//! cargo run -p mutants -- --list       what there is
//! cargo run -p mutants -- --page       `docs/models.md`: every model with its mutants
//! ```
//!
//! A mutant that survives says that a line is not needed, or that no model shows what it is for.

#![allow(clippy::print_stdout, reason = "a command that tells what it finds")]

mod page;
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
    let words: Vec<String> = std::env::args().skip(1).collect();
    let result = match words.first().map(String::as_str) {
        Some("--list") => {
            list();
            Ok(true)
        }
        Some("--page") => page::page().map(|page| {
            print!("{page}");
            true
        }),
        _ => run(&words),
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
    for Mutant { name, file, tests, purpose, .. } in table::all() {
        println!("{name}\n    {file}, seen by {}: {purpose}", tests.join(", "));
    }
}

/// True if no mutant survived.
fn run(words: &[String]) -> Result<bool, Box<dyn Error>> {
    let chosen: Vec<&Mutant> = table::all().filter(|mutant| mutant.matches(words)).collect();
    if chosen.is_empty() {
        return Err("no mutant has such a word in its name, its file or a model".into());
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
    let mut tests: Vec<&str> = chosen.iter().flat_map(|mutant| mutant.tests).copied().collect();
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

/// True if each of its models failed.
fn try_one(scratch: &Scratch, mutant: &Mutant) -> Result<bool, Box<dyn Error>> {
    scratch.with(mutant, || {
        let built = scratch.build();
        let program = built.map_err(|error| format!("{} does not compile: {error}", mutant.name))?;
        let mut killed = true;
        for test in mutant.tests {
            let start = Instant::now();
            let verdict = program.run(test, LONGEST_RUN)?;
            let fails = matches!(verdict, Verdict::Failed(_));
            let word = if fails { "killed  " } else { "SURVIVED" };
            println!("{word}  {} by {test} ({:.1?}): {verdict}", mutant.name, start.elapsed());
            killed &= fails;
        }
        Ok(killed)
    })
}
