//! The page `docs/performance.md`.

use super::{Plot, machine, table};
use crate::goal::Ratio;
use crate::options::Options;
use crate::peer::Kind;
use crate::peers::{PEERS, ours, raw};
use crate::scenario::Finding;
use std::fmt::Write;

const COMMAND: &str = "cargo bench --manifest-path benches/peers/Cargo.toml --bench compare --";

/// All of it.
pub(super) fn page(findings: &[Finding], options: &Options, plots: &[Plot]) -> String {
    let mut page = head(options);
    page += &goals(findings);
    page += &losses(findings);
    page += "## Plots\n\n";
    for (name, title) in plots {
        page += &format!("![{title}](performance/{name}.svg)\n\n");
    }
    page += &candidates();
    page += "## Scenarios\n\n";
    for finding in findings {
        page += &section(finding);
    }
    page
}

fn head(options: &Options) -> String {
    format!(
        "# Performance\n\n\
         This page and its plots are written by one command:\n\n\
         ```text\n{}\n```\n\n\
         Machine: {}. Date: {}. Medians of {} rounds; in each round every candidate runs once, and the order changes by \
         round. Every job is 16 bytes and touches nothing that the candidates share. Compare ratios, not figures of \
         different machines.\n\n",
        format!("{COMMAND}{}", options.arguments()).trim_end_matches(" --"),
        machine::description(),
        machine::date(),
        options.scale().rounds(),
    )
}

fn goals(findings: &[Finding]) -> String {
    let mut text = String::from("## Goals\n\n| scenario | met | missed |\n| --- | --- | --- |\n");
    for finding in findings {
        let verdicts = finding.verdicts();
        let met = verdicts.iter().filter(|verdict| verdict.is_met()).count();
        let _ = writeln!(text, "| `{}` | {met} | {} |", finding.scenario.name, verdicts.len() - met);
    }
    text + "\n"
}

/// Goals that are missed, and whoever else is ahead of us.
fn losses(findings: &[Finding]) -> String {
    let mut missed = String::new();
    let mut behind = String::new();
    for finding in findings {
        let name = finding.scenario.name;
        let verdicts = finding.verdicts();
        for verdict in verdicts.iter().filter(|verdict| !verdict.is_met()) {
            let (ratio, least) = (&verdict.ratio, verdict.at_least);
            let _ = writeln!(
                missed,
                "| `{name}` | {} | {} | {:.2} | {least:.2} |",
                ratio.metric, ratio.peer, ratio.value
            );
        }
        let has_goal = |ratio: &Ratio| verdicts.iter().any(|verdict| verdict.ratio == *ratio);
        let ahead = finding.outcome.ratios.iter().filter(|ratio| ratio.value < 1.0 && !has_goal(ratio));
        for ratio in ahead {
            let raw = if ratio.kind == Kind::Raw { " (raw cost)" } else { "" };
            let _ = writeln!(
                behind,
                "| `{name}` | {} | {}{raw} | {:.2} |",
                ratio.metric, ratio.peer, ratio.value
            );
        }
    }
    format!(
        "## Where we lose\n\n\
         Goals that are missed. A ratio above 1 means that ours is better.\n\n{}\n\
         Ahead of us without a goal that says otherwise:\n\n{}\n{WHY}\n",
        table_or_none(
            "| scenario | metric | beside | ratio | goal |\n| --- | --- | --- | ---: | ---: |\n",
            &missed
        ),
        table_or_none("| scenario | metric | beside | ratio |\n| --- | --- | --- | ---: |\n", &behind),
    )
}

/// What is known of the reasons, whatever the figures of a run are.
const WHY: &str = "\
### What is behind it

- A channel hands a value over. A pool does that, and also gives each task an id, fences so that no wake is lost, shows what each worker
  runs since when, ends each attempt by a swap that a shutdown can contest, and counts what became of it: four locked
  instructions for a task that is submitted and run, where a channel needs two. That is `enqueue`, `refuse` and `burst` beside typed channels.
- In `saturated` with 1 µs the best peers are near what the cores can do, and so are we; nothing can be 1.5 times better than that. With tiny
  tasks on more threads than cores a channel that spins and yields for longer than we do is ahead.
- `warm` by the 99th percentile, and `cold`: one start in a hundred waits for a core that the system has given to something else. Nobody
  here can help that, and the spread between runs is larger than what lies between us and the others.
- `memory`: the resident size counts the pages of the program, of which a pool touches more than a channel; five threads, one of
  them the timer; and 16 KiB of histograms for each worker.
- `growth` by payload: the payload is moved into the queue and out of it. Box what is larger than 1 KiB.
";

fn table_or_none(header: &str, rows: &str) -> String {
    if rows.is_empty() { "None.\n".to_owned() } else { format!("{header}{rows}") }
}

fn candidates() -> String {
    let all = [&[ours::DEFAULT, ours::OFF, ours::CLOSURES], ours::WARM, &PEERS, &raw::ALL].concat();
    let mut text = String::from(
        "## Candidates\n\n| name | how it is used | limit | stop runs what is queued |\n| --- | --- | --- | --- |\n",
    );
    for candidate in all {
        let (name, note) = (candidate.name, candidate.note);
        let yes = |fact: bool| if fact { "yes" } else { "no" };
        let (is_bounded, drains) = (yes(candidate.is_bounded()), yes(candidate.drains));
        let _ = writeln!(text, "| `{name}` | {note} | {is_bounded} | {drains} |");
    }
    text + "\n"
}

fn section(finding: &Finding) -> String {
    let mut text = format!("### `{}`\n\n{}\n\n", finding.scenario.name, finding.scenario.about);
    let _ = write!(
        text,
        "{}\n\n<details><summary>Ratios</summary>\n\n```text\n",
        table::of(&finding.outcome.series)
    );
    for ratio in &finding.outcome.ratios {
        let _ = writeln!(text, "{} {} {:.2}", ratio.metric, ratio.peer, ratio.value);
    }
    text + "```\n\n</details>\n\n"
}
