//! What a scenario is.

use crate::goal::{self, Goal, Ratio, Verdict};
use crate::scale::Scale;
use crate::series::Series;

/// One question, asked of all who can answer it.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// As in `--only` and in the `RATIO` lines.
    pub name: &'static str,
    /// What is measured, and how.
    pub about: &'static str,
    /// What should come out.
    pub goals: &'static [Goal],
    /// Measures it.
    pub run: fn(Scale) -> Outcome,
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Everything measured.
    pub series: Vec<Series>,
    /// Ours beside the others.
    pub ratios: Vec<Ratio>,
}

impl Outcome {
    /// With the ratios of ours to each other candidate.
    pub fn new(series: Vec<Series>) -> Self {
        Outcome { ratios: goal::pairs(&series), series }
    }

    /// With further ratios, to limits or to ourselves under another condition.
    #[must_use]
    pub fn with(mut self, references: impl IntoIterator<Item = Ratio>) -> Self {
        self.ratios.extend(references);
        self
    }

    /// The median of ours in its default settings.
    pub fn ours(&self, case: &str, metric: &str) -> f64 {
        let is_it = |s: &&Series| s.candidate.name == "dockhand" && s.case == case && s.metric == metric;
        self.series.iter().find(is_it).map_or(f64::NAN, Series::median)
    }
}

/// A scenario with what came out.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What was asked.
    pub scenario: Scenario,
    /// What came out.
    pub outcome: Outcome,
}

impl Finding {
    /// Runs a scenario.
    pub fn of(scenario: Scenario, scale: Scale) -> Self {
        Finding { scenario, outcome: (scenario.run)(scale) }
    }

    /// The ratios that have a goal.
    pub fn verdicts(&self) -> Vec<Verdict> {
        goal::verdicts(self.scenario.goals, &self.outcome.ratios)
    }

    /// Goals that say something about nothing measured: the scenario and its goals do not fit together.
    pub fn idle_goals(&self) -> Vec<&Goal> {
        let is_idle = |goal: &&Goal| !self.outcome.ratios.iter().any(|ratio| goal.covers(ratio));
        self.scenario.goals.iter().filter(is_idle).collect()
    }
}
