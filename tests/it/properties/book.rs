//! What was seen from outside: each answer, and each end of each payload.

use dockhand::metrics::Counts;
use dockhand::{Outcome, RejectReason, Shed, SubmitResult, TaskId, TaskStatus};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::run::Parcel;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// The processor answered `Ok`.
    Ok {
        attempt: u32,
    },
    Letter,
    Evicted,
    /// With the attempt that ran, if one did.
    Abandoned {
        attempt: Option<u32>,
    },
}

#[derive(Debug, Default)]
struct Record {
    /// How often it was taken: once, and once more for each replay.
    taken: usize,
    ends: Vec<Ended>,
}

impl Record {
    /// An attempt that answered `Ok` after a shutdown had given it up is abandoned, as was told.
    fn settle(&mut self) {
        let late = self.ends.iter().find_map(|end| match end {
            Ended::Abandoned { attempt: Some(attempt) } => Some(Ended::Ok { attempt: *attempt }),
            _ => None,
        });
        self.ends.retain(|end| Some(*end) != late);
    }
}

#[derive(Default)]
struct Pages {
    accepted: u64,
    caller_run: u64,
    rejected: u64,
    dropped: u64,
    attempts: u64,
    panics: u64,
    records: HashMap<u64, Record>,
    letters: HashMap<TaskId, u64>,
}

#[derive(Default)]
pub(super) struct Book(Mutex<Pages>);

impl Book {
    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer to the offer of one payload. What comes back is dropped here.
    pub(super) fn answer(&self, number: u64, answer: SubmitResult<Parcel>) {
        match answer {
            SubmitResult::Accepted(_) => self.accepted(number),
            SubmitResult::CallerRun(_) => {
                self.pages().caller_run += 1;
                self.taken(number);
            }
            SubmitResult::Rejected(refused) => {
                assert!(matches!(refused.reason(), RejectReason::QueueFull | RejectReason::Closed));
                self.pages().rejected += 1;
                assert_eq!(refused.into_payload().number(), number);
            }
            SubmitResult::Dropped(parcel) => {
                self.pages().dropped += 1;
                assert_eq!(parcel.number(), number);
            }
        }
    }

    pub(super) fn answers(&self, offered: &[u64], result: dockhand::BatchResult<Parcel>) {
        let mut back = Vec::new();
        for refused in result.refused {
            match refused.reason() {
                RejectReason::Dropped => self.pages().dropped += 1,
                _ => self.pages().rejected += 1,
            }
            back.push(refused.into_payload().number());
        }
        let in_order: Vec<_> = offered.iter().filter(|number| back.contains(number)).copied().collect();
        assert_eq!(back, in_order, "refused payloads come back in their order");
        assert_eq!(back.len() + result.accepted + result.caller_run, offered.len());
        offered.iter().filter(|number| !back.contains(number)).for_each(|number| self.taken(*number));
        let mut pages = self.pages();
        pages.accepted += result.accepted as u64;
        pages.caller_run += result.caller_run as u64;
    }

    fn accepted(&self, number: u64) {
        self.pages().accepted += 1;
        self.taken(number);
    }

    fn taken(&self, number: u64) {
        self.pages().records.entry(number).or_default().taken += 1;
    }

    fn ended(&self, number: u64, end: Ended) {
        self.pages().records.entry(number).or_default().ends.push(end);
    }

    pub(super) fn attempt(&self) {
        self.pages().attempts += 1;
    }

    pub(super) fn panics(&self) {
        self.pages().panics += 1;
    }

    pub(super) fn ok(&self, number: u64, attempt: u32) {
        self.ended(number, Ended::Ok { attempt });
    }

    pub(super) fn letter(&self, number: u64, id: TaskId) {
        self.pages().letters.insert(id, number);
        self.ended(number, Ended::Letter);
    }

    /// A payload that was given away, by the hook or in a report.
    pub(super) fn shed(&self, shed: &Shed<Parcel>) {
        let attempt = match shed.was {
            TaskStatus::Running { attempt } => Some(attempt),
            _ => None,
        };
        match shed.outcome {
            Outcome::Evicted => self.ended(shed.payload.number(), Ended::Evicted),
            Outcome::Abandoned => self.ended(shed.payload.number(), Ended::Abandoned { attempt }),
            // A letter that was pushed out of the store has had its end.
            Outcome::DeadLettered => {}
            other => panic!("nothing here ends as {other}"),
        }
    }

    pub(super) fn requeued(&self, id: TaskId, answer: Result<TaskId, RejectReason>) {
        let number = self.pages().letters[&id];
        match answer {
            Ok(_) => self.accepted(number),
            // It was pushed out of the store meanwhile.
            Err(RejectReason::UnknownLetter) => {}
            Err(_) => self.pages().rejected += 1,
        }
    }

    /// Each payload that was taken has ended as often as it was taken. For a moment at which nothing moves.
    pub(super) fn assert_ended(&self) {
        for (number, record) in &mut self.pages().records {
            record.settle();
            assert_eq!(record.ends.len(), record.taken, "payload {number}: {record:?}");
            let oks = record.ends.iter().filter(|end| matches!(end, Ended::Ok { .. })).count();
            assert!(oks <= 1, "payload {number} was used up twice: {record:?}");
        }
    }

    /// The pool has counted what was seen. For a moment at which nothing moves.
    pub(super) fn assert_counted(&self, counts: &Counts) {
        let pages = self.pages();
        let ends = |is: fn(&Ended) -> bool| {
            pages.records.values().flat_map(|record| &record.ends).filter(|end| is(end)).count() as u64
        };
        let seen = [
            ("accepted", pages.accepted, counts.accepted),
            ("caller_run", pages.caller_run, counts.caller_run),
            ("rejected", pages.rejected, counts.rejected),
            ("dropped", pages.dropped, counts.dropped),
            ("attempts", pages.attempts, counts.attempts),
            ("panics", pages.panics, counts.panics),
            ("succeeded", ends(|end| matches!(end, Ended::Ok { .. })), counts.succeeded),
            ("dead_lettered", ends(|end| matches!(end, Ended::Letter)), counts.dead_lettered),
            ("evicted", ends(|end| matches!(end, Ended::Evicted)), counts.evicted),
            ("abandoned", ends(|end| matches!(end, Ended::Abandoned { .. })), counts.abandoned),
        ];
        for (what, seen, counted) in seen {
            assert_eq!(seen, counted, "{what}: seen and counted; {counts:#?}");
        }
    }
}
