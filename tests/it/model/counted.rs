//! The pool has counted what was seen, and each task and each payload has come to one end.

use super::book::Task;
use super::settings::{Hooks, Sink};
use super::world::{Pool, World};
use crate::support::assert_conserved;
use dockhand::Outcome;
use dockhand::metrics::Counts;
use std::sync::atomic::Ordering;

const OUTCOMES: [Outcome; 6] = [
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
        other => panic!("{other}"),
    }
}

impl World {
    /// For a moment at which nothing moves.
    pub(super) fn assert_counted(&self, pool: &Pool) {
        self.book.assert_nothing_wrong();
        assert_conserved(pool);
        let (metrics, pages) = (pool.metrics(), self.book.pages());
        let (counts, seen) = (&metrics.counts, &pages.counts);
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
                assert_outcomes(&lane.counts, told.iter().copied());
            }
        }
        drop(pages);
        // What a shutdown from inside has left, its own attempt say, is handed out by the next one.
        if !self.is_closed.load(Ordering::SeqCst) {
            self.assert_unheard_counted(pool);
        }
    }

    /// Without a listener: what the other hooks saw, once everything has been handed out.
    pub(super) fn assert_unheard_counted(&self, pool: &Pool) {
        if !self.has_listener() && self.sees_all() {
            let pages = self.book.pages();
            assert_outcomes(&pool.metrics().counts, pages.tasks.values().filter_map(Task::unheard_end));
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
            let told = pages.told.iter().map(Vec::len).sum::<usize>() as u64;
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

#[track_caller]
fn assert_outcomes(counts: &Counts, seen: impl Iterator<Item = Outcome>) {
    let seen: Vec<_> = seen.collect();
    for outcome in OUTCOMES {
        let times = seen.iter().filter(|other| **other == outcome).count() as u64;
        assert_eq!(times, of(counts, outcome), "{outcome}: seen and counted; {counts:#?}");
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
