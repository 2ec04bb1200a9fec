//! What is counted, row by row.

use crate::plugged::{self, ROOM};
use crate::stepped;
use dockhand::{OverloadPolicy, Timing};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::mem::forget;

/// One row.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// Runs so many operations, and leaves what it has set up as it is: no end of a pool may be counted.
    pub(crate) run: fn(u64),
    /// The row that is a part of this one and is not to be counted twice.
    minus: Option<&'static str>,
}

const fn row(name: &'static str, run: fn(u64)) -> Scenario {
    Scenario { name, run, minus: None }
}

/// The rest of a run that does what another row does first.
const fn part(name: &'static str, run: fn(u64), rest: &'static str) -> Scenario {
    Scenario { name, run, minus: Some(rest) }
}

const SUBMIT: &str = "submit";
const SUBMIT_TRACKED: &str = "submit_tracked";

/// Payloads have 64 bytes where the name does not say otherwise, and settings are the default ones.
pub(crate) const SCENARIOS: &[Scenario] = &[
    row(SUBMIT, |n| plugged::submit::<8>(n, Timing::default())),
    row("submit, Timing::Off", |n| plugged::submit::<8>(n, Timing::Off)),
    row("submit, Timing::Full", |n| plugged::submit::<8>(n, Timing::Full)),
    row("submit, 16 bytes", |n| plugged::submit::<2>(n, Timing::default())),
    row("submit_batch, each", plugged::submit_batch),
    row("refused submit, Reject", |n| plugged::refuse(n, OverloadPolicy::Reject)),
    row("refused submit, DropIncoming", |n| plugged::refuse(n, OverloadPolicy::DropIncoming)),
    row("submit to a full lane, DropOldest", |n| plugged::overload(n, OverloadPolicy::DropOldest)),
    row("submit to a full lane, CallerRuns", |n| plugged::overload(n, OverloadPolicy::CallerRuns)),
    part("take and finish", plugged::drain, SUBMIT),
    row(SUBMIT_TRACKED, plugged::submit_tracked),
    part("take, finish and answer, tracked", plugged::drain_tracked, SUBMIT_TRACKED),
    row("submit, take and finish, ManualPool", stepped::run),
    row("take a retry and schedule the next, 10,000 in backoff, ManualPool", stepped::retry),
    row("crossbeam-channel try_send", send),
    row("crossbeam-channel try_send, full", send_to_full),
    part("crossbeam-channel try_recv", send_and_receive, "crossbeam-channel try_send"),
];

fn send(n: u64) {
    let (sender, receiver) = crossbeam_channel::bounded(ROOM);
    (0..n).for_each(|n| assert!(black_box(sender.try_send([n; 8])).is_ok()));
    forget(receiver);
}

fn send_to_full(n: u64) {
    let (sender, receiver) = crossbeam_channel::bounded(1);
    assert!(sender.try_send([0; 8]).is_ok());
    (0..n).for_each(|n| assert!(black_box(sender.try_send([n; 8])).is_err()));
    forget(receiver);
}

fn send_and_receive(n: u64) {
    let (sender, receiver) = crossbeam_channel::bounded(ROOM);
    (0..n).for_each(|n| assert!(black_box(sender.try_send([n; 8])).is_ok()));
    (0..n).for_each(|_| assert!(black_box(receiver.try_recv()).is_ok()));
}

impl Scenario {
    pub(crate) fn named(name: &str) -> Option<&'static Scenario> {
        SCENARIOS.iter().find(|scenario| scenario.name == name)
    }

    /// Its count without the part that is a row of its own.
    pub(crate) fn own(&self, found: &BTreeMap<&str, f64>) -> f64 {
        let part = self.minus.map_or(0.0, |part| found[part]);
        found[self.name] - part
    }
}
