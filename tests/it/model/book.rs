//! What was seen from outside: the answer to each offer, what listeners were told of each task, and where each payload
//! went.

use super::counted::Outcomes;
use super::starts::Start;
use dockhand::metrics::Counts;
use dockhand::{Outcome, RejectReason, TaskId};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// One task: a payload has another one for each time that its letter is offered again.
#[derive(Debug, Default)]
pub(super) struct Task {
    pub(super) number: Option<u64>,
    pub(super) attempt: u32,
    /// No attempt before this.
    pub(super) due: Option<Instant>,
    pub(super) ended_attempt: Option<Instant>,
    pub(super) panicked: bool,
    /// An attempt answered `Ok` in time.
    pub(super) is_ok: bool,
    /// The first listener's.
    pub(super) told: Vec<Outcome>,
    pub(super) letters: usize,
    pub(super) handed: Vec<Outcome>,
    /// Its handle cancels when it is dropped, and nobody gets the payload then.
    pub(super) cancels_on_drop: bool,
    /// What its handle was answered.
    pub(super) answer: Option<Outcome>,
}

/// The order in which tasks of a lane must start, as far as one is promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stream {
    Thread(ThreadId),
    Batch(u64),
    /// Those with a delay, on a clock that is moved by hand.
    Delayed,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Payload {
    pub(super) due: Instant,
    pub(super) deadline: Option<Instant>,
    /// A time to live of its own, which a replay starts anew; `false` for a deadline, which stays.
    pub(super) own: Option<(Duration, bool)>,
    pub(super) stream: Option<Stream>,
    pub(super) starts: u32,
    /// It ran on the thread that offered it, before it had an answer.
    pub(super) ran_here: bool,
    pub(super) drops: u32,
}

#[derive(Default)]
pub(super) struct Pages {
    pub(super) tasks: HashMap<TaskId, Task>,
    pub(super) payloads: Vec<Payload>,
    pub(super) counts: Counts,
    pub(super) hook_panics: u64,
    /// By lane.
    pub(super) told: [Outcomes; 3],
    /// By listener: events.
    pub(super) heard: [u64; 2],
    /// Where listeners are told of a start, it is looked at there: they may do much before the processor is called.
    pub(super) started: HashMap<TaskId, Start>,
    pub(super) last: HashMap<(usize, Stream), (Instant, u64)>,
    /// The lane from which a turn took something, if it took a task to run it.
    pub(super) first: Option<Option<usize>>,
    pub(super) results: (u64, u64),
    pub(super) letters_pushed_out: u64,
    pub(super) shutdowns: (u64, u64),
    pub(super) workers: (u64, u64),
    wrong: Vec<String>,
}

/// The answer to one offer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer {
    Accepted(TaskId),
    CallerRun(TaskId),
    Rejected(RejectReason),
    Dropped,
}

#[derive(Default)]
pub(super) struct Book(Mutex<Pages>);

impl Book {
    pub(super) fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a payload that is about to be offered.
    pub(super) fn payload(&self, due: Instant, deadline: Option<Instant>, stream: Option<Stream>) -> u64 {
        let payload = Payload { due, deadline, own: None, stream, starts: 0, ran_here: false, drops: 0 };
        let mut pages = self.pages();
        pages.payloads.push(payload);
        pages.payloads.len() as u64 - 1
    }

    pub(super) fn payload_dropped(&self, number: u64) {
        let mut pages = self.pages();
        pages.payloads[number as usize].drops += 1;
        pages.first.get_or_insert(None);
    }

    pub(super) fn result_made(&self) {
        self.pages().results.0 += 1;
    }

    pub(super) fn result_dropped(&self) {
        self.pages().results.1 += 1;
    }

    pub(super) fn hook_panics(&self) {
        self.pages().hook_panics += 1;
    }

    pub(super) fn wrong_if(&self, is_wrong: bool, what: impl FnOnce() -> String) {
        if is_wrong {
            let what = what();
            self.pages().wrong.push(what);
        }
    }

    #[track_caller]
    pub(super) fn assert_nothing_wrong(&self) {
        assert_eq!(self.pages().wrong, [""; 0]);
    }

    pub(super) fn answer(&self, number: u64, answer: Answer) {
        let mut pages = self.pages();
        let ran_here = pages.payloads[number as usize].ran_here;
        match answer {
            Answer::Accepted(id) => {
                pages.counts.accepted += 1;
                pages.know(id, number);
            }
            Answer::CallerRun(id) => {
                pages.counts.caller_run += 1;
                pages.know(id, number);
            }
            Answer::Rejected(_) => pages.counts.rejected += 1,
            Answer::Dropped => pages.counts.dropped += 1,
        }
        drop(pages);
        let expected = matches!(answer, Answer::CallerRun(_));
        self.wrong_if(ran_here != expected, || format!("{number}: {answer:?}, ran here: {ran_here}"));
    }

    pub(super) fn letter(&self, id: TaskId) {
        self.pages().tasks.entry(id).or_default().letters += 1;
    }

    /// A payload was given away, by value.
    pub(super) fn handed(&self, id: TaskId, outcome: Outcome) {
        self.pages().tasks.entry(id).or_default().handed.push(outcome);
    }

    pub(super) fn answered(&self, id: TaskId, outcome: Outcome) {
        let before = self.pages().tasks.entry(id).or_default().answer.replace(outcome);
        self.wrong_if(before.is_some(), || format!("{id}: answered {before:?}, then {outcome}"));
    }
}

impl Pages {
    pub(super) fn know(&mut self, id: TaskId, number: u64) {
        self.tasks.entry(id).or_default().number = Some(number);
    }

    pub(super) fn is_ended(&self, id: TaskId) -> bool {
        self.tasks.get(&id).is_some_and(|task| !(task.told.is_empty() && task.handed.is_empty()))
    }
}
