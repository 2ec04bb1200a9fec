//! Ratios of ours to others, and what they should be.

use crate::peer::Kind;
use crate::series::Series;
use crate::stats;

/// Ours beside one other.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    /// `[case/]metric[_percentile][@variant of ours]`.
    pub metric: String,
    /// The other one's name.
    pub peer: String,
    /// What the other one is.
    pub kind: Kind,
    /// Above 1 means that ours is better.
    pub value: f64,
}

impl Ratio {
    /// Ours beside a limit, or beside itself under another condition.
    pub fn to_reference(metric: impl Into<String>, reference: impl Into<String>, value: f64) -> Self {
        Ratio { metric: metric.into(), peer: reference.into(), kind: Kind::Reference, value }
    }
}

/// Each of ours beside each other candidate, case by case and metric by metric.
pub fn pairs(series: &[Series]) -> Vec<Ratio> {
    let ours = series.iter().filter(|s| s.is_ours());
    let others = |ours: &Series| {
        let (case, metric) = (ours.case.clone(), ours.metric);
        series.iter().filter(move |s| !s.is_ours() && s.case == case && s.metric == metric)
    };
    ours.flat_map(|ours| others(ours).flat_map(move |other| pair(ours, other))).collect()
}

fn pair(ours: &Series, other: &Series) -> Vec<Ratio> {
    let both = ours.judged().into_iter().zip(other.judged());
    let ratio = |((suffix, ours_value), (_, other_value))| Ratio {
        metric: metric_name(ours, suffix),
        peer: other.candidate.name.to_owned(),
        kind: other.candidate.kind,
        value: stats::ratio(ours.unit.better, ours.unit.floor, other_value, ours_value),
    };
    both.map(ratio).collect()
}

fn metric_name(ours: &Series, suffix: &str) -> String {
    let case = if ours.case.is_empty() { String::new() } else { format!("{}/", ours.case) };
    let variant = ours.candidate.name.find('@').map_or("", |at| &ours.candidate.name[at..]);
    format!("{case}{}{suffix}{variant}", ours.metric)
}

/// Whom a goal is set against.
#[derive(Clone, Copy, Debug)]
pub enum Against {
    /// Every peer in the table: everything but the raw cost.
    EveryPeer,
    /// Every one of this kind.
    Kind(Kind),
    /// The one of this name.
    One(&'static str),
}

/// What a ratio should be at least.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    /// What the name of the metric contains.
    pub metric: &'static str,
    /// Whom it is set against.
    pub against: Against,
    /// The least ratio.
    pub at_least: f64,
}

impl Goal {
    /// A goal.
    pub const fn new(metric: &'static str, against: Against, at_least: f64) -> Self {
        Goal { metric, against, at_least }
    }

    /// Whether it says something about this ratio.
    pub fn covers(&self, ratio: &Ratio) -> bool {
        let is_against = match self.against {
            Against::EveryPeer => !matches!(ratio.kind, Kind::Raw | Kind::Reference),
            Against::Kind(kind) => ratio.kind == kind,
            Against::One(name) => ratio.peer == name,
        };
        is_against && ratio.metric.contains(self.metric)
    }
}

/// A ratio beside its goal.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// What was measured.
    pub ratio: Ratio,
    /// What it should be.
    pub at_least: f64,
}

impl Verdict {
    /// Whether the goal is met.
    pub fn is_met(&self) -> bool {
        self.ratio.value >= self.at_least
    }
}

/// Each ratio that has a goal, beside it; beside the highest, if it has several.
pub fn verdicts(goals: &[Goal], ratios: &[Ratio]) -> Vec<Verdict> {
    let verdict = |ratio: &Ratio| {
        let covering = goals.iter().filter(|goal| goal.covers(ratio)).map(|goal| goal.at_least);
        let at_least = covering.reduce(f64::max)?;
        Some(Verdict { ratio: ratio.clone(), at_least })
    };
    ratios.iter().filter_map(verdict).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::Candidate;
    use crate::peers::{PEERS, ours, raw};
    use crate::scale::Scale;
    use crate::series::{NANOS, PER_SECOND, Reading, interleave};

    fn ratios(readings: impl Fn(&Candidate) -> Reading) -> Vec<Ratio> {
        let candidates = [ours::OFF, PEERS[0], raw::QUEUE];
        pairs(&interleave(Scale::Smoke, "case", &candidates, |candidate| vec![readings(candidate)]))
    }

    fn is_ours(candidate: &Candidate) -> bool {
        candidate.kind == Kind::Ours
    }

    #[test]
    fn a_cost_that_is_lower_and_a_throughput_that_is_higher_are_above_1() {
        let cost = ratios(|c| Reading::value("ns", NANOS, if is_ours(c) { 10.0 } else { 20.0 }));
        let throughput =
            ratios(|c| Reading::value("tasks", PER_SECOND, if is_ours(c) { 20.0 } else { 10.0 }));
        assert_eq!(cost.len(), 2);
        assert_eq!((cost[0].metric.as_str(), cost[0].peer.as_str()), ("case/ns@off", "crossbeam"));
        assert!(cost.iter().chain(&throughput).all(|ratio| ratio.value == 2.0));
    }

    #[test]
    fn a_latency_is_compared_by_its_percentiles() {
        let names: Vec<_> =
            ratios(|_| Reading::latency("start", 1..=100)).into_iter().map(|r| r.metric).collect();
        assert_eq!(names[..2], ["case/start_p50@off", "case/start_p99@off"]);
    }

    #[test]
    fn a_goal_against_every_peer_leaves_the_raw_cost_out() {
        let ratios = ratios(|_| Reading::value("ns", NANOS, 10.0));
        let goals = [Goal::new("ns", Against::EveryPeer, 0.7), Goal::new("", Against::One("crossbeam"), 1.5)];
        let verdicts = verdicts(&goals, &ratios);
        assert_eq!(verdicts.len(), 1);
        assert_eq!(verdicts[0].at_least, 1.5);
        assert!(!verdicts[0].is_met());
        assert!(super::verdicts(&[Goal::new("ms", Against::EveryPeer, 1.0)], &ratios).is_empty());
    }
}
