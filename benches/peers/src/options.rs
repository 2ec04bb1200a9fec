//! The command line.

use crate::child::Question;
use crate::scale::Scale;
use clap::Parser;

/// Measures dockhand beside what a Rust developer would use instead.
#[derive(Clone, Debug, Parser)]
pub struct Options {
    /// Below 90 seconds, with fewer rounds; writes nothing unless told to.
    #[arg(long)]
    pub quick: bool,

    /// Runs this scenario alone; writes nothing unless told to.
    #[arg(long, value_name = "SCENARIO")]
    pub only: Option<String>,

    /// Writes `docs/performance.md` and its plots, whatever was measured. A full run does so anyway.
    #[arg(long)]
    pub write: bool,

    /// Runs everything once, very small, and checks that it fits together (as `cargo bench -- --test`).
    #[arg(long)]
    pub test: bool,

    /// Passed by `cargo bench`.
    #[arg(long, hide = true)]
    pub bench: bool,

    /// In a child: measures one candidate and prints a number.
    #[arg(long, hide = true, requires = "of")]
    pub ask: Option<Question>,

    /// In a child: the candidate.
    #[arg(long, hide = true)]
    pub of: Option<String>,

    /// In a child: for how long.
    #[arg(long, hide = true, default_value_t = 0)]
    pub millis: u64,
}

impl Options {
    /// How much is measured.
    pub fn scale(&self) -> Scale {
        match (self.test, self.quick) {
            (true, _) => Scale::Smoke,
            (false, true) => Scale::Quick,
            (false, false) => Scale::Full,
        }
    }

    /// Whether the report goes to `docs/`.
    pub fn writes(&self) -> bool {
        !self.test && (self.write || (!self.quick && self.only.is_none()))
    }

    /// The arguments after `--` that make this run again.
    pub fn arguments(&self) -> String {
        let mut arguments = String::new();
        if self.quick {
            arguments += " --quick";
        }
        if let Some(only) = &self.only {
            arguments += " --only ";
            arguments += only;
        }
        if self.write {
            arguments += " --write";
        }
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Options {
        Options::parse_from(["compare"].iter().chain(arguments))
    }

    #[test]
    fn only_a_full_run_overwrites_the_report_unless_told_to() {
        assert!(parsed(&["--bench"]).writes());
        assert!(!parsed(&["--quick"]).writes());
        assert!(!parsed(&["--only", "warm"]).writes());
        assert!(!parsed(&["--test", "--write"]).writes());
        assert!(parsed(&["--quick", "--write"]).writes());
    }

    #[test]
    fn the_command_in_the_report_is_the_one_that_was_given() {
        assert_eq!(parsed(&["--bench"]).arguments(), "");
        assert_eq!(parsed(&["--quick", "--only", "warm", "--bench"]).arguments(), " --quick --only warm");
    }
}
