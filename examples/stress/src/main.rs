//! Runs load scenarios for a pool and prints their figures. Ends with code 1 if something did not hold or the figures could
//! not be written, and with 2 if an argument makes no sense.
#![forbid(unsafe_code)]

use clap::{Parser, ValueEnum};
use std::io::{self, Write};
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
        all.map_or_else(|| Scenario::from_str(name, false).map(|one| vec![one]), Ok)
            .map(Chosen)
            .map_err(|_| "none of steady, burst, faults, stuck, all".to_string())
    }
}

/// Whether everything held.
fn holds(scenario: Scenario, scale: Scale) -> io::Result<bool> {
    let mut out = io::stdout();
    writeln!(out, "{scenario:?}: {}", scenario.about(scale))?;
    let began = Instant::now();
    match scenario.run(scale) {
        Ok(findings) => {
            writeln!(out, "{findings}\nTook {:.1} s.\n", began.elapsed().as_secs_f64())?;
            Ok(findings.broken().is_empty())
        }
        Err(error) => {
            say(&format!("{scenario:?} did not come to its end: {error}"));
            Ok(false)
        }
    }
}

fn say(line: &str) {
    // Where standard error is gone the exit code still tells.
    let _ = writeln!(io::stderr(), "stress: {line}");
}

fn main() -> ExitCode {
    let Options { scenario: Chosen(scenarios), scale } = Options::parse();
    let mut code = ExitCode::SUCCESS;
    for scenario in scenarios {
        match holds(scenario, scale) {
            Ok(true) => {}
            Ok(false) => code = ExitCode::FAILURE,
            Err(error) => {
                say(&format!("the figures could not be written: {error}"));
                return ExitCode::FAILURE;
            }
        }
    }
    code
}
