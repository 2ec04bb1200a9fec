//! Runs load scenarios for a pool and prints their figures. Ends with code 1 if something did not hold.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that says what it found")]

use clap::{Parser, ValueEnum};
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Instant;
use stress::{Scale, Scenario};

/// Puts a pool under load and prints what came of it, beside what was reported for other task systems.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// `steady`, `burst`, `faults`, `stuck`, or `all` of them.
    scenario: Chosen,

    /// Take about an n-th of the time. Bounds on time are wider then, and the figures mean less.
    #[arg(long, value_name = "N", default_value = "1")]
    scale: Scale,
}

#[derive(Clone, Debug)]
struct Chosen(Vec<Scenario>);

impl FromStr for Chosen {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let all = (name == "all").then(|| Scenario::ALL.to_vec());
        all.map_or_else(|| Scenario::from_str(name, false).map(|one| vec![one]), Ok).map(Chosen)
    }
}

/// Whether everything held.
fn holds(scenario: Scenario, scale: Scale) -> bool {
    println!("{scenario:?}: {}", scenario.about(scale));
    let began = Instant::now();
    match scenario.run(scale) {
        Ok(findings) => {
            println!("{findings}\nTook {:.1} s.\n", began.elapsed().as_secs_f64());
            findings.broken().is_empty()
        }
        Err(error) => {
            eprintln!("{scenario:?} did not come to its end: {error}");
            false
        }
    }
}

fn main() -> ExitCode {
    let Options { scenario: Chosen(scenarios), scale } = Options::parse();
    let broken = scenarios.into_iter().filter(|scenario| !holds(*scenario, scale)).count();
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
