//! The pool has counted what was seen, and each task and each payload has come to one end.

use super::book::Task;
use super::settings::{Hooks, Sink};
use super::world::{Pool, World};
use dockhand::Outcome;
use dockhand::metrics::{Counts, PoolMetrics};
use std::sync::atomic::Ordering;

/// How many tasks ended in which way.
#[derive(Debug, Default)]
pub(super) struct Outcomes([u64; 6]);

impl Outcomes {
    pub(super) fn add(&mut self, outcome: Outcome) {
        self.0[outcome as usize] += 1;
    }

    fn sum(&self) -> u64 {
        self.0.iter().sum()
    }

    #[track_caller]
    fn assert_counted(&self, counts: &Counts) {
        let Counts { succeeded, dead_lettered, cancelled, expired, evicted, abandoned, .. } = *counts;
        let counted = [succeeded, dead_lettered, cancelled, expired, evicted, abandoned];
        assert_eq!(self.0, counted, "outcomes, seen and counted; {counts:#?}");
    }
}

impl FromIterator<Outcome> for Outcomes {
    fn from_iter<I: IntoIterator<Item = Outcome>>(outcomes: I) -> Self {
        let mut sum = Outcomes::default();
        outcomes.into_iter().for_each(|outcome| sum.add(outcome));
        sum
    }
}

impl World {
    /// For a moment at which nothing moves.
    pub(super) fn assert_counted(&self, pool: &Pool) -> PoolMetrics {
        self.book.assert_nothing_wrong();
        let (metrics, pages) = (pool.metrics(), self.book.pages());
        let (counts, seen) = (&metrics.counts, &pages.counts);
        let lanes = metrics.lanes.iter().map(|lane| &lane.counts);
        lanes.chain([counts]).for_each(|counts| assert!(counts.is_conserved(), "{counts:#?}"));
        let mut pairs = vec![
            ("accepted", seen.accepted, counts.accepted),
            ("caller_run", seen.caller_run, counts.caller_run),
            ("rejected", seen.rejected, counts.rejected),
            ("dropped", seen.dropped, counts.dropped),
            ("attempts", seen.attempts, counts.attempts),
            ("panics", seen.panics, counts.panics),
            ("hook_panics", pages.hook_panics, metrics.hook_panics),
        ];
        if self.is_manual() {
            pairs.push(("timeouts", seen.timeouts, counts.timeouts));
        }
        if self.settings.hooks.sheds {
            pairs.push(("letters_evicted", pages.letters_pushed_out, metrics.letters_evicted));
        }
        for (what, seen, counted) in pairs {
            assert_eq!(seen, counted, "{what}: seen and counted; {counts:#?}");
        }
        assert!(metrics.letters <= self.settings.letters && metrics.letters == pool.dead_letters().len());
        if self.has_listener() {
            for (lane, told) in metrics.lanes.iter().zip(&pages.told) {
                told.assert_counted(&lane.counts);
            }
        }
        drop(pages);
        // What a shutdown from inside has left, its own attempt say, is handed out by the next one.
        if !self.is_closed.load(Ordering::SeqCst) {
            self.assert_unheard_counted(&metrics);
        }
        metrics
    }

    /// Without a listener: what the other hooks saw, once everything has been handed out.
    pub(super) fn assert_unheard_counted(&self, metrics: &PoolMetrics) {
        if !self.has_listener() && self.sees_all() {
            let pages = self.book.pages();
            let ends = pages.tasks.values().filter_map(Task::unheard_end);
            ends.collect::<Outcomes>().assert_counted(&metrics.counts);
        }
    }

    /// Each end of a task is seen by some hook, if not by a listener, and nothing can be `Ok` too late unseen.
    fn sees_all(&self) -> bool {
        let hooks = &self.settings.hooks;
        let is_timed = self.settings.lanes.iter().any(|lane| lane.timeout.is_some());
        hooks.sheds && hooks.sink != Sink::Absent && (self.is_manual() || !is_timed)
    }

    /// After the pool is gone, with all its threads, handles and letters.
    pub(super) fn assert_ended(&self) {
        self.book.assert_nothing_wrong();
        let pages = self.book.pages();
        for (number, payload) in pages.payloads.iter().enumerate() {
            assert_eq!(payload.drops, 1, "payload {number}: {payload:?}");
        }
        assert_eq!(pages.results.0, pages.results.1, "outputs and errors, made and dropped");
        assert_eq!(pages.workers.0, pages.workers.1, "workers, started and stopped");
        let (counts, hooks) = (&pages.counts, &self.settings.hooks);
        if self.has_listener() {
            let told = pages.told.iter().map(Outcomes::sum).sum::<u64>();
            assert_eq!(told, counts.accepted + counts.caller_run, "outcomes, told and due");
            assert_eq!(pages.shutdowns.0, 1, "the shutdown begins once");
            assert!(pages.shutdowns.1 <= 1, "the shutdown ends once");
        }
        let all_hear = hooks.listeners < 2 || !self.is_manual() || pages.heard[0] == pages.heard[1];
        assert!(all_hear, "each listener hears everything: {:?}", pages.heard);
        for (id, task) in &pages.tasks {
            let unheard = if self.sees_all() { task.unheard_end() } else { None };
            if let Err(why) = task.check(task.told.first().copied().or(unheard), hooks) {
                panic!("task {id}: {why}; {task:#?}");
            }
        }
    }
}

impl Task {
    /// How it ended, as far as hooks tell without a listener.
    fn unheard_end(&self) -> Option<Outcome> {
        if self.cancels_on_drop && self.handed.is_empty() && self.letters == 0 && !self.is_ok {
            return Some(Outcome::Cancelled);
        }
        let away = self.handed.iter().copied().find(|outcome| *outcome != Outcome::DeadLettered);
        let is_letter = self.letters > 0 || !self.handed.is_empty();
        let letter = is_letter.then_some(Outcome::DeadLettered);
        let ok = self.is_ok.then_some(Outcome::Succeeded);
        away.or(letter).or(ok)
    }

    /// `ends` is how it did, where that is known.
    fn check(&self, ends: Option<Outcome>, hooks: &Hooks) -> Result<(), &'static str> {
        let (is_told, sheds, has_sink) = (hooks.listeners > 0, hooks.sheds, hooks.sink != Sink::Absent);
        let is = |outcome| ends.is_none_or(|ends| ends == outcome);
        let is_away = matches!(
            ends,
            Some(Outcome::Cancelled | Outcome::Expired | Outcome::Evicted | Outcome::Abandoned)
        );
        let rules = [
            (!is_told || self.told.len() == 1, "its end is told once"),
            (self.handed.len() <= 1, "its payload is given away once"),
            (self.handed.iter().copied().all(is), "its payload goes where its outcome says"),
            (self.answer.is_none_or(is), "its handle hears the same"),
            (
                !is_away || !sheds || self.cancels_on_drop || self.handed.len() == 1,
                "what is not used up is given away",
            ),
            (
                !has_sink || ends.is_none() || (self.letters == 1) == is(Outcome::DeadLettered),
                "one letter for the sink",
            ),
            (!is_told || self.is_ok || ends != Some(Outcome::Succeeded), "only `Ok` succeeds"),
        ];
        rules.iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, rule)| Err(*rule))
    }
}
