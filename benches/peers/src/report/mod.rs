//! What the reader gets: on the terminal, and as `docs/performance.md` with its plots.

mod machine;
mod markdown;
mod plots;
mod table;

use crate::options::Options;
use crate::scenario::Finding;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// What a plot is called within `docs/performance/`, and what it shows.
type Plot = (&'static str, &'static str);

/// Prints a scenario: its table, its `RATIO` lines, and its goals.
pub fn print(finding: &Finding, out: &mut impl Write) -> io::Result<()> {
    let name = finding.scenario.name;
    writeln!(out, "\n== {name}\n{}\n", finding.scenario.about)?;
    writeln!(out, "{}\n", table::of(&finding.outcome.series))?;
    for ratio in &finding.outcome.ratios {
        writeln!(out, "RATIO {name} {} {} {:.3}", ratio.metric, ratio.peer, ratio.value)?;
    }
    Ok(())
}

/// Prints what became of the goals.
pub fn print_goals(findings: &[Finding], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\n== goals")?;
    for finding in findings {
        for verdict in finding.verdicts() {
            let (name, ratio) = (finding.scenario.name, &verdict.ratio);
            let answer = if verdict.is_met() { "met" } else { "missed" };
            let (value, least) = (ratio.value, verdict.at_least);
            writeln!(out, "GOAL {answer} {name} {} {} {value:.3} >= {least:.2}", ratio.metric, ratio.peer)?;
        }
    }
    Ok(())
}

/// Writes `performance.md` and `performance/*.svg` into a directory.
pub fn write(findings: &[Finding], options: &Options, docs: &Path) -> anyhow::Result<()> {
    let directory = docs.join("performance");
    fs::create_dir_all(&directory)?;
    let plots = plots::draw_all(findings, &directory)?;
    fs::write(docs.join("performance.md"), markdown::page(findings, options, &plots))?;
    Ok(())
}
