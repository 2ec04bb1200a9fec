//! Readings of a running pool: numbers and status.

use crate::clock::Moment;
use crate::lane::LaneQueue;
use crate::metrics::{Counts, LaneMetrics, Phase as PoolPhase, PoolMetrics, PoolStatus, WorkerStatus};
use crate::processor::Processor;
use crate::shared::{Shared, WorkerSlot};
use crate::tally::Count;
use crate::task::TaskId;
use crate::word::{Phase, Runner};

impl<P: Processor> Shared<P> {
    pub(crate) fn metrics(&self) -> PoolMetrics {
        let running = self.running();
        let lanes: Vec<_> = running.iter().enumerate().map(|(lane, n)| self.lane_metrics(lane, *n)).collect();
        let mut counts = Counts::default();
        for lane in &lanes {
            counts.add(&lane.counts);
        }
        let phases = || self.workers.iter().map(|worker| worker.runner.word.read().phase());
        PoolMetrics {
            counts,
            lanes,
            live_workers: phases().filter(|phase| *phase != Phase::Ended).count(),
            busy_workers: phases().filter(|phase| phase.is_busy()).count(),
            sleeping_workers: self.sleep.state().sleeping() as usize,
            letters: self.letters.len(),
            letters_evicted: self.letters.evicted(),
            hook_panics: self.guard.panics(),
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for (lane, running) in self.running().into_iter().enumerate() {
            counts.add(&self.lane_counts(lane, running));
        }
        counts
    }

    fn lane_metrics(&self, lane: usize, running: u64) -> LaneMetrics {
        let queue = &self.lanes[lane];
        LaneMetrics {
            name: queue.name.to_string(),
            counts: self.lane_counts(lane, running),
            queue_capacity: queue.queue.capacity(),
            delay_capacity: queue.delay_capacity,
        }
    }

    /// Ends are read before starts, and takes before lengths, so that no gauge runs ahead of what feeds it.
    fn lane_counts(&self, lane: usize, running: u64) -> Counts {
        let queue = &self.lanes[lane];
        let sum = |count: Count| -> u64 {
            let own = self.workers.iter().map(|worker| worker.tallies[lane].get(count));
            own.sum::<u64>() + queue.tally().get(count)
        };
        let mut counts = Counts {
            succeeded: sum(Count::Succeeded),
            dead_lettered: sum(Count::DeadLettered),
            abandoned: sum(Count::Abandoned),
            evicted: sum(Count::Evicted),
            retries: sum(Count::Retries),
            panics: sum(Count::Panics),
            ..Counts::default()
        };
        counts.attempts = sum(Count::Attempts);
        counts.running = running;
        counts.delayed = queue.delays.len() as u64;
        counts.caller_run = sum(Count::CallerRun);
        counts.rejected = sum(Count::Rejected);
        counts.dropped = sum(Count::Dropped);
        (counts.accepted, counts.queued) = self.accepted(queue, || sum(Count::Taken));
        counts.submitted = counts.accepted + counts.rejected + counts.caller_run + counts.dropped;
        counts
    }

    /// How many attempts run now, by lane. One look at each runner's word, so never more than there are runners.
    fn running(&self) -> Vec<u64> {
        let mut running = vec![0; self.lanes.len()];
        for runner in self.runners() {
            let runs = runner.word.read().phase() == Phase::Run;
            if let Some(now) = runner.running().filter(|_| runs) {
                running[now.lane] += 1;
            }
        }
        running
    }

    /// What was accepted, and how much of it is queued. Under the drain's lock: what lies in a queue once the pool is
    /// finalized came too late, will be refused, and is not counted.
    fn accepted(&self, lane: &LaneQueue<P::Payload, P::Error>, taken: impl Fn() -> u64) -> (u64, u64) {
        let drain = self.drain.lock();
        let taken = taken();
        let queued = if drain.is_finalized() { 0 } else { lane.queue.len() as u64 };
        (lane.tell_accepted(taken + queued), queued)
    }

    pub(crate) fn status(&self) -> PoolStatus {
        let now = self.clock.now();
        let workers = self.workers.iter().map(|worker| self.worker_status(worker, now));
        let callers = self.callers.lock().clone();
        let callers = callers.iter().map(|runner| self.runner_status("caller", runner, now));
        PoolStatus { workers: workers.chain(callers).collect(), phase: self.phase() }
    }

    fn phase(&self) -> PoolPhase {
        if !self.sleep.state().is_closed() {
            PoolPhase::Open
        } else if self.drain.is_finalized() && self.quiet_or_given_up() {
            PoolPhase::Stopped
        } else {
            PoolPhase::Draining
        }
    }

    fn quiet_or_given_up(&self) -> bool {
        let runners = self.runners();
        runners.iter().all(|runner| runner.word.read().phase().is_quiet())
    }

    pub(crate) fn worker_status(&self, worker: &WorkerSlot, now: Moment) -> WorkerStatus {
        self.runner_status(&worker.name, &worker.runner, now)
    }

    pub(crate) fn runner_status(&self, name: &str, runner: &Runner, now: Moment) -> WorkerStatus {
        let running = runner.running();
        let task = running.and_then(|running| {
            let id = TaskId::from_u64(running.task)?;
            Some(self.lanes.get(running.lane)?.info(id, running.attempt))
        });
        let since = running.map(|running| Moment::from_nanos(running.since));
        WorkerStatus {
            name: name.to_string(),
            running_for: since.filter(|_| task.is_some()).map(|since| now.since(since)),
            task,
        }
    }
}
