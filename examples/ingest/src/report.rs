//! The summary in words: a table, the dead letters, and the line for programs.

use std::io::{self, Write};
use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};
use dockhand::metrics::{Counts, Histogram, LaneMetrics};
use indicatif::{HumanBytes, HumanCount};
use os_display::Quotable;

use crate::plain::plain;
use crate::summary::Summary;

type Row = (&'static str, fn(&Counts) -> u64);

/// What was offered, how it was answered, how it ended.
const ROWS: [Row; 13] = [
    ("submitted", |counts| counts.submitted),
    ("accepted", |counts| counts.accepted),
    ("run by the caller", |counts| counts.caller_run),
    ("rejected", |counts| counts.rejected),
    ("dropped", |counts| counts.dropped),
    ("succeeded", |counts| counts.succeeded),
    ("dead letters", |counts| counts.dead_lettered),
    ("cancelled", |counts| counts.cancelled),
    ("expired", |counts| counts.expired),
    ("evicted", |counts| counts.evicted),
    ("abandoned", |counts| counts.abandoned),
    ("attempts", |counts| counts.attempts),
    ("retries", |counts| counts.retries),
];

type TimeRow = (&'static str, fn(&LaneMetrics) -> &Histogram, f64);

/// How long tasks waited for a worker, and how long a worker took.
const TIMES: [TimeRow; 4] = [
    ("wait, median", |lane| &lane.wait, 0.5),
    ("wait, 99 %", |lane| &lane.wait, 0.99),
    ("run, median", |lane| &lane.run, 0.5),
    ("run, 99 %", |lane| &lane.run, 0.99),
];

/// Writes all of it; the line of JSON, if wanted, comes last.
pub(crate) fn write(summary: &Summary, json: bool, to: &mut impl Write) -> io::Result<()> {
    writeln!(to, "{}", table(summary))?;
    write_throughput(summary, to)?;
    write_losses(summary, to)?;
    write_places(summary, to)?;
    write_letters(summary, to)?;
    if json {
        serde_json::to_writer(&mut *to, &summary.totals())?;
        writeln!(to)?;
    }
    to.flush()
}

fn table(summary: &Summary) -> Table {
    let lanes: Vec<_> = summary.used_lanes().collect();
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    let names = lanes.iter().map(|lane| lane.name.as_str());
    table.set_header(["tasks"].into_iter().chain(names).chain(["all lanes"]));
    for (name, count) in ROWS {
        let counts = lanes.iter().map(|lane| &lane.counts).chain([&summary.metrics.counts]);
        table.add_row([name.to_owned()].into_iter().chain(counts.map(|counts| count(counts).to_string())));
    }
    for (name, times, share) in TIMES {
        let times = lanes.iter().map(|lane| in_millis(times(lane).quantile(share)));
        table.add_row([name.to_owned()].into_iter().chain(times).chain([String::new()]));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn in_millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

fn write_throughput(summary: &Summary, to: &mut impl Write) -> io::Result<()> {
    let (tally, files) = (&summary.tally, summary.tally.files.get());
    let seconds = summary.elapsed.as_secs_f64().max(1e-3);
    writeln!(to, "{} files, {}, in {seconds:.2} s", HumanCount(files), HumanBytes(tally.bytes.get()))?;
    let (per_second, bytes) = (files as f64 / seconds, tally.bytes.get() as f64 / seconds);
    writeln!(to, "throughput: {per_second:.0} files/s, {}/s", HumanBytes(bytes as u64))?;
    let (lines, words) = (HumanCount(tally.lines.get()), HumanCount(tally.words.get()));
    writeln!(to, "text: {lines} lines, {words} words")?;
    let (pictures, thumbnails) = (tally.pictures.get(), tally.thumbnails.get());
    let out = summary.out.as_ref().map(|out| format!(", in {}", out.maybe_quote())).unwrap_or_default();
    writeln!(to, "pictures: {pictures}, thumbnails: {thumbnails}{out}")?;
    let (taken, refused) = summary.answered;
    writeln!(to, "endpoint: {taken} notices taken, {refused} requests answered with 503")
}

/// Whatever was given up. Silent about what did not happen, except for abandoned tasks.
fn write_losses(summary: &Summary, to: &mut impl Write) -> io::Result<()> {
    let (tally, counts) = (&summary.tally, &summary.metrics.counts);
    writeln!(to, "abandoned at the end: {}", counts.abandoned)?;
    let others = [
        ("follow-ups not taken at the end", tally.follow_ups_refused.get()),
        ("notices given up for newer ones", tally.notices_evicted.get()),
        ("notices given up as too old", tally.notices_expired.get()),
        ("dead letters given up for newer ones", tally.letters_evicted.get()),
    ];
    for (what, number) in others.into_iter().filter(|&(_, number)| number > 0) {
        writeln!(to, "{what}: {number}")?;
    }
    for worker in &summary.still_running {
        let lane = worker.task.as_ref().map_or("none", |task| &*task.lane);
        writeln!(to, "{} did not come back from its task in lane {lane}", worker.name)?;
    }
    Ok(())
}

fn write_places(summary: &Summary, to: &mut impl Write) -> io::Result<()> {
    let (count, named) = (summary.tally.unreadable.count(), summary.tally.unreadable.named());
    if count == 0 {
        return Ok(());
    }
    writeln!(to, "places that could not be looked at: {count}")?;
    for (place, why) in &named {
        writeln!(to, "  {}: {}", place.maybe_quote(), plain(why))?;
    }
    if count > named.len() as u64 {
        writeln!(to, "  and {} more", count - named.len() as u64)?;
    }
    Ok(())
}

fn write_letters(summary: &Summary, to: &mut impl Write) -> io::Result<()> {
    writeln!(to, "dead letters: {}", summary.letters.len())?;
    for letter in &summary.letters {
        writeln!(to, "  {}: {}: {}", letter.lane, letter.path.maybe_quote(), plain(&letter.why))?;
    }
    Ok(())
}
