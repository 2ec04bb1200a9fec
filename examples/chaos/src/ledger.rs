//! The books of one pool: what was answered, told, shown and handed back, and whether it adds up.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;

use dockhand::Outcome;
use dockhand::metrics::Counts;

use crate::findings::{Finding, Promise};

/// The answers to offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answers {
    pub(crate) accepted: u64,
    /// Taken with a handle: accepted or run by the caller, the handle does not say which.
    pub(crate) tracked: u64,
    pub(crate) caller_run: u64,
    pub(crate) rejected: u64,
    pub(crate) dropped: u64,
}

/// One payload.
#[derive(Debug, Default)]
struct Crate {
    ran: u32,
    refused: bool,
    dropped: u32,
}

/// One task, by what was heard of it.
#[derive(Debug, Default)]
struct Page {
    /// How often its end was told to the listener.
    told: u32,
    /// What the listener was told last.
    outcome: Option<Outcome>,
    /// What its handle, its answer, or whoever got its payload was shown.
    shown: Option<Outcome>,
    /// It was shown two different ends.
    conflict: bool,
    /// How often its payload was handed to `on_shed` or a report, or came back from a cancel.
    handed: u32,
}

/// Which of the pool's hooks feed the ledger.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hears {
    pub(crate) events: bool,
    pub(crate) shed: bool,
}

#[derive(Debug)]
pub(crate) struct Ledger<K> {
    hears: Hears,
    cargos: HashMap<u64, Crate>,
    tasks: HashMap<K, Page>,
    answers: Answers,
    /// An answer was lost in a panic of the soak's own, so that answers and counts cannot be compared.
    lost_answers: bool,
    /// As a shutdown from outside has reported them.
    counts: Option<Counts>,
}

impl<K: Copy + Eq + Hash + Debug> Ledger<K> {
    pub(crate) fn new(hears: Hears) -> Self {
        Ledger {
            hears,
            cargos: HashMap::new(),
            tasks: HashMap::new(),
            answers: Answers::default(),
            lost_answers: false,
            counts: None,
        }
    }

    pub(crate) fn made(&mut self, cargo: u64) {
        self.cargos.insert(cargo, Crate::default());
    }

    pub(crate) fn ran(&mut self, cargo: u64) {
        self.cargos.entry(cargo).or_default().ran += 1;
    }

    pub(crate) fn refused(&mut self, cargo: u64) {
        self.cargos.entry(cargo).or_default().refused = true;
    }

    pub(crate) fn dropped(&mut self, cargo: u64) {
        self.cargos.entry(cargo).or_default().dropped += 1;
    }

    pub(crate) fn answers(&mut self) -> &mut Answers {
        &mut self.answers
    }

    pub(crate) fn lose_answers(&mut self) {
        self.lost_answers = true;
    }

    fn page(&mut self, task: K) -> &mut Page {
        self.tasks.entry(task).or_default()
    }

    /// An answer named it, so its end has to be told.
    pub(crate) fn named(&mut self, task: K) {
        self.page(task);
    }

    pub(crate) fn told(&mut self, task: K, outcome: Outcome) {
        let page = self.page(task);
        page.told += 1;
        page.outcome = Some(outcome);
    }

    pub(crate) fn shown(&mut self, task: K, outcome: Outcome) {
        let page = self.page(task);
        page.conflict |= page.shown.is_some_and(|shown| shown != outcome);
        page.shown = Some(outcome);
    }

    pub(crate) fn handed(&mut self, task: K, outcome: Outcome) {
        self.page(task).handed += 1;
        self.shown(task, outcome);
    }

    pub(crate) fn reported(&mut self, counts: Counts) {
        self.counts = Some(counts);
    }

    pub(crate) fn taken_answers(&self) -> Answers {
        self.answers
    }

    /// How many tasks ended so, if anybody has said.
    pub(crate) fn ended(&self, outcome: Outcome) -> u64 {
        match (self.hears.events, &self.counts) {
            (true, _) => self.tasks.values().filter(|page| page.outcome == Some(outcome)).count() as u64,
            (false, Some(counts)) => of(counts, outcome),
            (false, None) => 0,
        }
    }

    /// What does not add up, once nothing can be added any more.
    pub(crate) fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        self.check_cargos(&mut findings);
        self.check_tasks(&mut findings);
        if let Some(counts) = &self.counts {
            self.check_counts(counts, &mut findings);
        }
        findings
    }

    fn check_cargos(&self, findings: &mut Vec<Finding>) {
        for (number, cargo) in &self.cargos {
            if cargo.dropped != 1 || (cargo.refused && cargo.ran > 0) {
                find(findings, Promise::Other, format!("payload {number}: {cargo:?}"));
            }
        }
    }

    fn check_tasks(&self, findings: &mut Vec<Finding>) {
        for (task, page) in &self.tasks {
            let told_once = !self.hears.events || page.told == 1;
            let told_what_was_shown =
                !self.hears.events || page.shown.is_none() || page.shown == page.outcome;
            if !told_once || !told_what_was_shown || page.conflict {
                find(findings, Promise::ToldOnce, format!("task {task:?}: {page:?}"));
            }
            if page.handed > 1 || (self.must_be_handed(page) && page.handed == 0) {
                find(findings, Promise::Conserved, format!("payload of task {task:?}: {page:?}"));
            }
        }
    }

    /// Whether the payload of a task that ended so goes to somebody who writes it down.
    fn must_be_handed(&self, page: &Page) -> bool {
        // What a handle cancels as it is dropped is dropped with it, and what failed may stay a letter.
        let is_handed_back =
            matches!(page.outcome, Some(Outcome::Expired | Outcome::Evicted | Outcome::Abandoned));
        self.hears.shed && is_handed_back
    }

    fn check_counts(&self, counts: &Counts, findings: &mut Vec<Finding>) {
        let mut compare = |what: &str, counted: u64, seen: u64| {
            if counted != seen {
                let text = format!("{what}: counted {counted}, seen {seen} ({counts:?})");
                find(findings, Promise::Conserved, text);
            }
        };
        if self.hears.events {
            for outcome in OUTCOMES {
                compare(&outcome.to_string(), of(counts, outcome), self.ended(outcome));
            }
        }
        if !self.lost_answers {
            let Answers { accepted, tracked, caller_run, rejected, dropped } = self.answers;
            compare("taken", counts.accepted + counts.caller_run, accepted + tracked + caller_run);
            compare("dropped", counts.dropped, dropped);
            // What came after the end was refused and is not in the report.
            compare("rejected", counts.rejected, counts.rejected.min(rejected));
        }
    }
}

pub(crate) const OUTCOMES: [Outcome; 6] = [
    Outcome::Succeeded,
    Outcome::DeadLettered,
    Outcome::Cancelled,
    Outcome::Expired,
    Outcome::Evicted,
    Outcome::Abandoned,
];

fn of(counts: &Counts, outcome: Outcome) -> u64 {
    match outcome {
        Outcome::Succeeded => counts.succeeded,
        Outcome::DeadLettered => counts.dead_lettered,
        Outcome::Cancelled => counts.cancelled,
        Outcome::Expired => counts.expired,
        Outcome::Evicted => counts.evicted,
        Outcome::Abandoned => counts.abandoned,
        _ => 0,
    }
}

/// The law at the end of a pool: both sums hold, and nothing is left inside.
pub(crate) fn check_law(whose: &str, counts: &Counts) -> Option<Finding> {
    let inside = counts.queued + counts.delayed + counts.running;
    let broken = !counts.is_conserved() || inside > 0;
    broken.then(|| Finding { promise: Promise::Conserved, what: format!("{whose}: {counts:?}") })
}

fn find(findings: &mut Vec<Finding>, promise: Promise, what: String) {
    findings.push(Finding { promise, what });
}

#[cfg(test)]
mod tests;
