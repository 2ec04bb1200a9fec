//! All scenarios, side by side.
//!
//! `cargo bench --manifest-path benches/peers/Cargo.toml --bench compare -- [--quick] [--only SCENARIO] [--write]`
#![allow(clippy::print_stdout, reason = "it is a program that prints")]

use anyhow::{bail, ensure};
use clap::Parser;
use peers::allocator::Counting;
use peers::options::Options;
use peers::scenario::{Finding, Scenario};
use peers::{child, report, scenarios};
use std::io;
use std::path::Path;
use std::time::Instant;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    if let (Some(question), Some(name)) = (options.ask, &options.of) {
        println!("{}", child::measure(question, name, options.millis)?);
        return Ok(());
    }
    let began = Instant::now();
    let mut findings = Vec::new();
    for scenario in chosen(options.only.as_deref())? {
        let began = Instant::now();
        let finding = Finding::of(scenario, options.scale());
        if options.test {
            check(&finding)?;
        } else {
            report::print(&finding, &mut io::stdout().lock())?;
        }
        println!("{}: {:.1} s", scenario.name, began.elapsed().as_secs_f64());
        findings.push(finding);
    }
    if !options.test {
        report::print_goals(&findings, &mut io::stdout().lock())?;
    }
    if options.writes() {
        report::write(&findings, &options, Path::new(DOCS))?;
    }
    println!("\n{:.0} s in all", began.elapsed().as_secs_f64());
    Ok(())
}

fn chosen(only: Option<&str>) -> anyhow::Result<Vec<Scenario>> {
    let chosen: Vec<_> =
        scenarios::ALL.into_iter().filter(|s| only.is_none_or(|only| s.name == only)).collect();
    if chosen.is_empty() {
        let names = scenarios::ALL.map(|scenario| scenario.name).join(", ");
        bail!("there is no such scenario; there are: {names}");
    }
    Ok(chosen)
}

/// Every goal is about something that was measured.
fn check(finding: &Finding) -> anyhow::Result<()> {
    let name = finding.scenario.name;
    ensure!(finding.idle_goals().is_empty(), "{name}: goals about nothing: {:?}", finding.idle_goals());
    Ok(())
}
