//! A scenario as a table that is Markdown as well.

use crate::series::Series;
use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

const HEADER: [&str; 9] = ["case", "metric", "candidate", "unit", "median", "p50", "p99", "p99.9", "spread"];
/// From here on, numbers.
const FIRST_NUMBER: usize = 4;

/// One row for each series.
pub(super) fn of(series: &[Series]) -> Table {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN).set_header(HEADER);
    for column in table.column_iter_mut().skip(FIRST_NUMBER) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.add_rows(series.iter().map(row));
    table
}

fn row(series: &Series) -> [String; HEADER.len()] {
    let curve = series.curve();
    let point =
        |read: fn(&crate::stats::Curve) -> f64| curve.as_ref().map_or_else(String::new, |c| short(read(c)));
    [
        series.case.clone(),
        series.metric.to_owned(),
        series.candidate.name.to_owned(),
        series.unit.name.to_owned(),
        short(series.median()),
        point(|curve| curve.p50()),
        point(|curve| curve.p99()),
        point(|curve| curve.p999()),
        format!("{:.0} %", series.spread() * 100.0),
    ]
}

/// With at least three digits that count, and no more than that after the point.
fn short(value: f64) -> String {
    match value.abs() {
        100_000_000.0.. => format!("{:.0} M", value / 1e6),
        1_000_000.0.. => format!("{:.2} M", value / 1e6),
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn numbers_keep_three_digits_that_count() {
        let shown = [0.957, 14.26, 1234.5, 38_123_456.0, 123_456_789.0].map(short);
        assert_eq!(shown, ["0.957", "14.3", "1234", "38.12 M", "123 M"]);
    }
}
