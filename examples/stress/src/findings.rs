//! What a scenario has to say.

use comfy_table::{CellAlignment, Table, presets};
use std::fmt;

/// The figures of a run beside those reported elsewhere, and what should have held and did not.
#[derive(Debug)]
pub struct Findings {
    table: Table,
    notes: Vec<String>,
    broken: Vec<String>,
}

impl Findings {
    /// With the heads of the table's columns.
    pub(crate) fn new<const N: usize>(heads: [&str; N]) -> Self {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN).set_header(heads);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        Findings { table, notes: Vec::new(), broken: Vec::new() }
    }

    /// For figures that have a line each.
    pub(crate) fn compared() -> Self {
        Findings::new(["figure", "here", "reported elsewhere"])
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.table.add_row(cells);
    }

    /// A line of a table that compares.
    pub(crate) fn figure(&mut self, what: &str, here: impl fmt::Display, elsewhere: &str) {
        self.row([what.to_string(), here.to_string(), elsewhere.to_string()]);
    }

    /// Something to be said below the table.
    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Something that has to hold.
    pub(crate) fn must(&mut self, holds: bool, what: impl fmt::Display) {
        if !holds {
            self.broken.push(what.to_string());
        }
    }

    /// What should have held and did not; empty after a good run.
    pub fn broken(&self) -> &[String] {
        &self.broken
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.table)?;
        self.notes.iter().try_for_each(|note| write!(f, "\n{note}"))?;
        self.broken.iter().try_for_each(|what| write!(f, "\nBROKEN: {what}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_hold_is_kept_and_shown() {
        let mut findings = Findings::compared();
        findings.figure("wait", "70 ms", "below 50 ms");
        findings.must(true, "the sky is up");
        assert!(findings.broken().is_empty());
        findings.must(false, "no wait is longer than 50 ms");
        assert_eq!(findings.broken(), ["no wait is longer than 50 ms"]);
        assert!(findings.to_string().ends_with("BROKEN: no wait is longer than 50 ms"));
    }
}
