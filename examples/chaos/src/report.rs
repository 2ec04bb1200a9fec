//! The line of JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::findings::{self, Promise};
use crate::ledger::{Answers, OUTCOMES};
use crate::options::Options;
use crate::{live, totals};

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Report {
    seed: u64,
    /// How long the scripts were played.
    seconds: f64,
    threads: usize,
    pools_built: u64,
    /// Calls of a pool, by scripts and by user code inside.
    operations: u64,
    operations_per_second: u64,
    tasks_per_second: u64,
    answers: BTreeMap<&'static str, u64>,
    outcomes: BTreeMap<String, u64>,
    /// Tasks that were offered to an idle pool, and the longest of them from its submit to its start.
    probes: u64,
    longest_start_us: u64,
    /// What a script's thread has been in for longest, and how long. A hang is what takes half a minute and more.
    longest_step: String,
    longest_step_ms: u64,
    /// Rare things, and how often they came about.
    reached: BTreeMap<&'static str, u64>,
    conserved: bool,
    told_once: bool,
    payloads_alive: i64,
    threads_alive: i64,
    findings: usize,
}

impl Report {
    pub(crate) fn new(options: &Options, played: Duration, threads_alive: i64) -> Self {
        let totals = totals::all();
        let Answers { accepted, tracked, caller_run, rejected, dropped } = totals.answers;
        let a_second = |count: u64| (count as f64 / played.as_secs_f64()) as u64;
        let answers = [
            ("accepted", accepted),
            ("tracked", tracked),
            ("caller_run", caller_run),
            ("rejected", rejected),
            ("dropped", dropped),
        ];
        Report {
            seed: options.seed,
            seconds: played.as_secs_f64(),
            threads: options.threads,
            pools_built: totals::pools(),
            operations: totals::operations(),
            operations_per_second: a_second(totals::operations()),
            tasks_per_second: a_second(accepted + tracked + caller_run),
            answers: answers.into(),
            outcomes: OUTCOMES.iter().map(ToString::to_string).zip(totals.outcomes).collect(),
            probes: totals::probes(),
            longest_start_us: totals::longest_start().as_micros() as u64,
            longest_step_ms: totals.longest_step.0.as_millis() as u64,
            longest_step: totals.longest_step.1,
            reached: totals.reached,
            conserved: findings::holds(Promise::Conserved),
            told_once: findings::holds(Promise::ToldOnce),
            payloads_alive: live::alive(),
            threads_alive,
            findings: findings::count(),
        }
    }

    /// Whether everything held.
    pub(crate) fn is_good(&self) -> bool {
        self.findings == 0 && self.payloads_alive == 0 && self.threads_alive == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_good_only_if_everything_held() {
        let good = Report::default();
        assert!(good.is_good());
        assert!(!Report { findings: 1, ..good.clone() }.is_good());
        assert!(!Report { payloads_alive: 1, ..good.clone() }.is_good());
        assert!(!Report { payloads_alive: -1, ..good.clone() }.is_good());
        assert!(!Report { threads_alive: 1, ..good }.is_good());
    }
}
