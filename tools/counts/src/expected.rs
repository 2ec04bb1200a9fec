//! The table of expected counts, and what is wrong with others.

use anyhow::Context;
use std::fmt::Write;
use std::{fs, io};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/expected.txt");

const HEAD: &str = "# Instructions of one operation. Made by: cargo run --release -p counts -- --write\n";

/// A row may grow by this share of itself ...
const SHARE: f64 = 0.15;
/// ... and by one instruction, for the smallest ones.
const SLACK: f64 = 1.0;

/// Counts by operation, in the order of the scenarios.
#[derive(Debug)]
pub(crate) struct Table(Vec<(String, f64)>);

impl Table {
    pub(crate) fn of(rows: Vec<(&str, f64)>) -> Self {
        Table(rows.into_iter().map(|(name, count)| (name.to_owned(), count)).collect())
    }

    /// The smaller count of each row, of two tables with the same rows.
    pub(crate) fn least(&self, other: &Table) -> Self {
        let least = |(name, count): (&str, f64)| {
            (name.to_owned(), other.get(name).map_or(count, |other| count.min(other)))
        };
        Table(self.rows().map(least).collect())
    }

    pub(crate) fn read() -> anyhow::Result<Self> {
        match fs::read_to_string(PATH) {
            Ok(text) => Table::parse(&text),
            // The first `--write` has nothing to compare with.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Table(Vec::new())),
            Err(error) => Err(error).context(PATH),
        }
    }

    pub(crate) fn write(&self) -> anyhow::Result<()> {
        let mut text = HEAD.to_owned();
        for (name, count) in self.rows() {
            writeln!(text, "{name} = {count:.1}")?;
        }
        fs::write(PATH, text).context(PATH)
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let row = |line: &str| {
            let (name, count) = line.split_once(" = ")?;
            Some((name.to_owned(), count.parse().ok()?))
        };
        let rows = lines.map(|line| row(line).with_context(|| format!("{PATH}: {line:?} is no row")));
        rows.collect::<Result<_, _>>().map(Table)
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }

    pub(crate) fn get(&self, name: &str) -> Option<f64> {
        self.rows().find(|(other, _)| *other == name).map(|(_, count)| count)
    }
}

/// What speaks against the counts: growth, and rows that only one of the two has.
pub(crate) fn complaints(expected: &Table, counted: &Table) -> Vec<String> {
    let grown = counted.rows().filter_map(|(name, count)| match expected.get(name) {
        None => Some(format!("{name}: nothing is expected of it yet")),
        Some(known) if count > known * (1.0 + SHARE) + SLACK => {
            Some(format!("{name}: {count:.1} instructions, more than 15 % above {known:.1}"))
        }
        Some(_) => None,
    });
    let gone = expected.rows().filter(|(name, _)| counted.get(name).is_none());
    grown.chain(gone.map(|(name, _)| format!("{name}: expected, but not counted"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints_of(expected: &str, counted: &str) -> Vec<String> {
        let parse = |text| Table::parse(text).expect("rows");
        complaints(&parse(expected), &parse(counted))
    }

    #[test]
    fn the_least_of_two_tables_is_taken_row_by_row() {
        let [one, two] =
            ["a = 1.0\nb = 4.0", "a = 2.0\nb = 3.0"].map(|text| Table::parse(text).expect("rows"));
        assert_eq!(one.least(&two).rows().collect::<Vec<_>>(), [("a", 1.0), ("b", 3.0)]);
    }

    #[test]
    fn growth_is_complained_of_above_fifteen_percent_and_one_instruction() {
        assert!(complaints_of("submit = 100.0", "submit = 115.9").is_empty());
        assert_eq!(
            complaints_of("submit = 100.0", "submit = 116.1"),
            ["submit: 116.1 instructions, more than 15 % above 100.0"]
        );
        assert!(complaints_of("submit = 100.0", "submit = 20.0").is_empty());
    }

    #[test]
    fn a_row_that_only_one_side_has_is_complained_of() {
        assert_eq!(complaints_of("# made\nold = 1.0", "new = 1.0").len(), 2);
    }

    #[test]
    fn a_line_that_is_no_row_is_named() {
        let error = Table::parse("submit = many").expect_err("not a number");
        assert!(error.to_string().contains("submit = many"), "{error}");
    }
}
