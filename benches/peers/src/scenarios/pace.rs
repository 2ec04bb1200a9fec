//! One submit at a time, at a given pace: what it costs the submitter, and when the job starts.

use crate::job::Job;
use crate::peer::{Candidate, Setup};
use crate::series::Reading;
use crate::{clock, tally};
use std::thread;
use std::time::Duration;

/// Submits before those that count: some threads are started by the first.
const WARM_UP: u64 = 20;

/// What the submitter does until the next submit is due.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gap {
    /// Reads the clock, and has the cache warm.
    Spin(Duration),
    /// Sleeps, as a program does that has nothing to do.
    Sleep(Duration),
}

impl Gap {
    fn pass(self) {
        match self {
            Gap::Spin(gap) => clock::spin_until(clock::now() + clock::nanos(gap)),
            Gap::Sleep(gap) => thread::sleep(gap),
        }
    }
}

/// One worker, so that with the submitter there is a core for each.
pub(super) fn measure(candidate: &Candidate, gap: Gap, submits: u64) -> Vec<Reading> {
    let peer = candidate.start(Setup { workers: 1, capacity: 1024 });
    let submit = |_| {
        gap.pass();
        let at = clock::now();
        peer.submit(Job::Stamp { at });
        clock::now() - at
    };
    let expected = tally::expect(WARM_UP);
    (0..WARM_UP).for_each(|n| {
        submit(n);
    });
    expected.wait();
    tally::take_starts();
    let expected = tally::expect(submits);
    let costs: Vec<_> = (0..submits).map(submit).collect();
    expected.wait();
    peer.stop();
    vec![Reading::latency("submit", costs), Reading::latency("start", tally::take_starts())]
}
