//! What a run yields, and what the rounds make of it.

use crate::peer::{Candidate, Kind};
use crate::scale::Scale;
use crate::stats::{self, Better, Curve};

/// What a value is in.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    /// As in the tables.
    pub name: &'static str,
    /// Which values are good.
    pub better: Better,
    /// What cannot be told from it is below.
    pub floor: f64,
}

/// Nanoseconds.
pub const NANOS: Unit = Unit { name: "ns", better: Better::Lower, floor: 1.0 };
/// Jobs that ended in a second.
pub const PER_SECOND: Unit = Unit { name: "tasks/s", better: Better::Higher, floor: 1.0 };
/// As a share of what would be possible.
pub const OF_IDEAL: Unit = Unit { name: "of ideal", better: Better::Higher, floor: 0.001 };
/// Processor time. The floor is what a sleeping main thread uses up.
pub const CPU_MICROS: Unit = Unit { name: "µs CPU", better: Better::Lower, floor: 500.0 };
/// Bytes.
pub const BYTES: Unit = Unit { name: "B", better: Better::Lower, floor: 1.0 };
/// Kibibytes of resident memory; the floor is a page.
pub const KIB: Unit = Unit { name: "KiB", better: Better::Lower, floor: 4.0 };
/// Allocations for each task; the floor is one in a thousand.
pub const PER_TASK: Unit = Unit { name: "per task", better: Better::Lower, floor: 0.001 };

/// One measured thing of one run.
#[derive(Clone, Debug)]
pub struct Reading {
    metric: &'static str,
    unit: Unit,
    value: f64,
    curve: Option<Curve>,
    judged_by: JudgedBy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JudgedBy {
    Value,
    Percentiles,
}

impl Reading {
    /// A number.
    pub fn value(metric: &'static str, unit: Unit, value: f64) -> Self {
        Reading { metric, unit, value, curve: None, judged_by: JudgedBy::Value }
    }

    /// So many jobs in so many nanoseconds.
    pub fn throughput(metric: &'static str, jobs: u64, nanos: u64) -> Self {
        Reading::value(metric, PER_SECOND, jobs as f64 * 1e9 / nanos.max(1) as f64)
    }

    /// Many samples of a cost, compared by their mean: whoever pays rarely but much pays too.
    pub fn cost(metric: &'static str, samples: Vec<f64>) -> Self {
        let value = stats::mean(&samples);
        Reading { curve: Some(Curve::of(samples)), ..Reading::value(metric, NANOS, value) }
    }

    /// Many samples of a latency, compared by the 50th and the 99th percentile.
    pub fn latency(metric: &'static str, nanos: impl IntoIterator<Item = u64>) -> Self {
        let curve = Curve::of(nanos.into_iter().map(|nanos| nanos as f64).collect());
        let value = Reading::value(metric, NANOS, curve.p50());
        Reading { curve: Some(curve), judged_by: JudgedBy::Percentiles, ..value }
    }
}

/// The readings of one metric of one candidate in one case, one for each round.
#[derive(Clone, Debug)]
pub struct Series {
    /// Which setting of the scenario; empty if it has one.
    pub case: String,
    /// Of whom.
    pub candidate: Candidate,
    /// What.
    pub metric: &'static str,
    /// In what.
    pub unit: Unit,
    judged_by: JudgedBy,
    values: Vec<f64>,
    curves: Vec<Curve>,
}

impl Series {
    fn new(case: &str, candidate: Candidate, reading: &Reading) -> Self {
        let Reading { metric, unit, judged_by, .. } = *reading;
        Series {
            case: case.to_owned(),
            candidate,
            metric,
            unit,
            judged_by,
            values: Vec::new(),
            curves: Vec::new(),
        }
    }

    /// The median over the rounds.
    pub fn median(&self) -> f64 {
        stats::median(self.values.iter().copied())
    }

    /// How far the rounds lie apart, as a share of the median.
    pub fn spread(&self) -> f64 {
        stats::spread(&self.values)
    }

    /// The distribution within a round; each point is the median over the rounds.
    pub fn curve(&self) -> Option<Curve> {
        Curve::median_of(&self.curves)
    }

    /// What it is compared by: a suffix for the name of the metric, and the value.
    pub fn judged(&self) -> Vec<(&'static str, f64)> {
        match (self.judged_by, self.curve()) {
            (JudgedBy::Percentiles, Some(curve)) => vec![("_p50", curve.p50()), ("_p99", curve.p99())],
            _ => vec![("", self.median())],
        }
    }

    /// Whether it is ours.
    pub fn is_ours(&self) -> bool {
        self.candidate.kind == Kind::Ours
    }
}

/// Runs each candidate once in each round. The order changes by round: nobody is always first, nor always behind the same.
pub fn interleave(
    scale: Scale,
    case: &str,
    candidates: &[Candidate],
    mut run: impl FnMut(&Candidate) -> Vec<Reading>,
) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    for round in 0..scale.rounds() {
        for index in order(candidates.len(), round) {
            let candidate = candidates[index];
            for reading in run(&candidate) {
                let is_it = |s: &Series| s.candidate.name == candidate.name && s.metric == reading.metric;
                let at = series.iter().position(is_it).unwrap_or_else(|| {
                    series.push(Series::new(case, candidate, &reading));
                    series.len() - 1
                });
                series[at].values.push(reading.value);
                series[at].curves.extend(reading.curve);
            }
        }
    }
    let place = |s: &Series| candidates.iter().position(|candidate| candidate.name == s.candidate.name);
    series.sort_by_key(place);
    series
}

/// Rotated by the round, and backwards in every second.
fn order(candidates: usize, round: usize) -> Vec<usize> {
    let mut order: Vec<_> = (0..candidates).collect();
    order.rotate_left(round * 5 % candidates.max(1));
    if round % 2 == 1 {
        order.reverse();
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::{PEERS, ours};

    #[test]
    fn every_round_has_every_candidate_once_in_another_order() {
        let orders: Vec<_> = (0..7).map(|round| order(13, round)).collect();
        for (n, one) in orders.iter().enumerate() {
            let mut sorted = one.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..13).collect::<Vec<_>>());
            assert!(!orders[..n].contains(one));
        }
    }

    #[test]
    fn the_rounds_of_a_metric_make_one_series_in_the_order_of_the_candidates() {
        let candidates = [ours::DEFAULT, PEERS[0]];
        let mut next = 0.0;
        let series = interleave(Scale::Quick, "case", &candidates, |_| {
            next += 1.0;
            vec![Reading::value("a", NANOS, next), Reading::latency("b", [1, 2, 3])]
        });
        let names: Vec<_> = series.iter().map(|s| (s.candidate.name, s.metric)).collect();
        let expected = [("dockhand", "a"), ("dockhand", "b"), ("crossbeam", "a"), ("crossbeam", "b")];
        assert_eq!(names, expected);
        assert_eq!(series[0].values.len(), Scale::Quick.rounds());
        assert_eq!(series[1].judged(), [("_p50", 2.0), ("_p99", 3.0)]);
    }
}
