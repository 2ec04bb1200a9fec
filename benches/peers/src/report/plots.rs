//! The plots: latency by percentile, and throughput by workers.

use super::Plot;
use crate::peer::Kind;
use crate::scenario::Finding;
use crate::scenarios::WORKERS;
use crate::series::Series;
use crate::stats::QUANTILES;
use anyhow::{Result, anyhow};
use plotters::coord::ranged1d::{KeyPointHint, Ranged, ValueFormatter};
use plotters::prelude::*;
use std::fmt::Display;
use std::path::Path;

const SIZE: (u32, u32) = (960, 540);
/// Room at the right for the names.
const LEGEND: f64 = 180.0;
const FONT: (&str, u32) = ("sans-serif", 14);
const TITLE: (&str, u32) = ("sans-serif", 20);

/// A name, whether it is ours, and its points.
type Line = (String, bool, Vec<(f64, f64)>);

/// Draws what the findings have the figures for.
pub(super) fn draw_all(findings: &[Finding], directory: &Path) -> Result<Vec<Plot>> {
    let latencies = [
        ("warm", "submit", "warm_submit", "Warm: what a submit takes"),
        ("warm", "start", "warm_start", "Warm: from submit to start"),
        ("cold", "submit", "cold_submit", "Cold: what a submit takes"),
        ("cold", "start", "cold_start", "Cold: from submit to start"),
    ];
    let mut drawn = Vec::new();
    for (scenario, metric, name, title) in latencies {
        if let Some(series) = series_of(findings, scenario) {
            let lines =
                series.iter().filter(|series| series.metric == metric).filter_map(percentiles).collect();
            let ticks = Ticks(QUANTILES.iter().map(|quantile| format!("{}", quantile * 100.0)).collect());
            draw(directory, name, Axes { title, x: "percentile", y: "ns", ticks }, lines)?;
            drawn.push((name, title));
        }
    }
    if let Some(series) = series_of(findings, "growth") {
        let (name, title) = ("throughput", "Tiny tasks from one producer, by workers");
        let ticks = Ticks(WORKERS.iter().map(|(_, workers)| workers.to_string()).collect());
        draw(directory, name, Axes { title, x: "workers", y: "tasks/s", ticks }, throughput(series))?;
        drawn.push((name, title));
    }
    Ok(drawn)
}

fn series_of<'a>(findings: &'a [Finding], scenario: &str) -> Option<&'a [Series]> {
    let finding = findings.iter().find(|finding| finding.scenario.name == scenario)?;
    Some(&finding.outcome.series)
}

fn line(series: &Series, points: Vec<f64>) -> Line {
    let points = points.into_iter().enumerate().map(|(n, y)| (n as f64, y)).collect();
    (series.candidate.name.to_owned(), series.candidate.kind == Kind::Ours, points)
}

fn percentiles(series: &Series) -> Option<Line> {
    Some(line(series, series.curve()?.0.to_vec()))
}

fn throughput(series: &[Series]) -> Vec<Line> {
    let first = series.iter().filter(|series| series.metric == WORKERS[0].0);
    let per_second = |first: &Series| {
        let same = |metric: &str| {
            series.iter().find(|s| s.candidate.name == first.candidate.name && s.metric == metric)
        };
        WORKERS.iter().filter_map(|(metric, _)| Some(1e9 / same(metric)?.median())).collect()
    };
    first.map(|first| line(first, per_second(first))).collect()
}

/// A scale of evenly spaced places with names.
struct Ticks(Vec<String>);

struct Axes {
    title: &'static str,
    x: &'static str,
    y: &'static str,
    ticks: Ticks,
}

impl Ranged for Ticks {
    type FormatOption = plotters::coord::ranged1d::NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = value / (self.0.len() as f64 - 1.0);
        limit.0 + (share * f64::from(limit.1 - limit.0)) as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        (0..self.0.len()).map(|n| n as f64).collect()
    }

    fn range(&self) -> std::ops::Range<f64> {
        0.0..self.0.len() as f64 - 1.0
    }
}

impl ValueFormatter<f64> for Ticks {
    fn format(value: &f64) -> String {
        value.to_string()
    }
}

fn draw(directory: &Path, name: &str, axes: Axes, lines: Vec<Line>) -> Result<()> {
    let path = directory.join(format!("{name}.svg"));
    let area = SVGBackend::new(&path, SIZE).into_drawing_area();
    area.fill(&WHITE).map_err(failed)?;
    let (plot, legend) = area.split_horizontally(f64::from(SIZE.0) - LEGEND);
    let values = lines.iter().flat_map(|(.., points)| points.iter().map(|(_, y)| y.max(1.0)));
    let (lowest, highest) =
        values.fold((f64::MAX, 1.0), |(low, high): (f64, f64), y| (low.min(y), high.max(y)));
    let names = axes.ticks.0.clone();
    let mut chart = ChartBuilder::on(&plot)
        .caption(axes.title, TITLE)
        .margin(10)
        .x_label_area_size(45)
        .y_label_area_size(80)
        .build_cartesian_2d(axes.ticks, (lowest / 2.0..highest * 2.0).log_scale())
        .map_err(failed)?;
    chart
        .configure_mesh()
        .x_desc(axes.x)
        .y_desc(axes.y)
        .label_style(FONT)
        .x_label_formatter(&|n| names.get(*n as usize).cloned().unwrap_or_default())
        .y_label_formatter(&|y| short(*y))
        .draw()
        .map_err(failed)?;
    for (index, (name, is_ours, points)) in lines.into_iter().enumerate() {
        let style = style_of(index, is_ours);
        chart.draw_series(LineSeries::new(points, style)).map_err(failed)?;
        let y = 50 + 20 * index as i32;
        legend.draw(&PathElement::new(vec![(0, y), (25, y)], style)).map_err(failed)?;
        legend.draw(&Text::new(name, (32, y - 7), FONT)).map_err(failed)?;
    }
    area.present().map_err(failed)
}

/// Ours is black and thick.
fn style_of(index: usize, is_ours: bool) -> ShapeStyle {
    if is_ours {
        return BLACK.stroke_width(4);
    }
    // Neighbours in the legend lie far apart on the circle.
    let hue = (index * 5 % 16) as f64 / 16.0;
    HSLColor(hue, 0.7, 0.25 + 0.1 * (index % 3) as f64).stroke_width(2)
}

fn short(value: f64) -> String {
    match value {
        1_000_000.0.. => format!("{} M", value / 1e6),
        1_000.0.. => format!("{} k", value / 1e3),
        _ => format!("{value}"),
    }
}

fn failed(error: impl Display) -> anyhow::Error {
    anyhow!("a plot cannot be drawn: {error}")
}
