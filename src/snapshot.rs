//! Readings of a running pool: numbers and status.

use crate::ages::Ages;
use crate::clock::Moment;
use crate::histogram::Histogram;
use crate::lane::LaneQueue;
use crate::metrics::{Counts, LaneMetrics, Phase as PoolPhase, PoolMetrics, PoolStatus, WorkerStatus};
use crate::permits::Permits;
use crate::processor::Processor;
use crate::shared::{Shared, Station, WorkerSlot};
use crate::tally::Count;
use crate::task::{TaskId, TaskInfo};
use crate::word::{Phase, Running};

impl<P: Processor> Shared<P> {
    pub(crate) fn metrics(&self) -> PoolMetrics {
        let running = self.running();
        let lanes: Vec<_> = running.iter().enumerate().map(|(lane, n)| self.lane_metrics(lane, *n)).collect();
        let mut counts = Counts::default();
        for lane in &lanes {
            counts.add(&lane.counts);
        }
        let phases = || self.workers.iter().map(|worker| worker.station.runner.word.read().phase());
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
        let (mut wait, mut run, mut caller_run) = Default::default();
        for worker in &self.workers {
            Histogram::add(&mut wait, &worker.times[lane].wait);
            Histogram::add(&mut run, &worker.times[lane].run);
        }
        Histogram::add(&mut caller_run, &queue.caller_run);
        let oldest = queue.ages.as_ref().filter(|_| queue.queued() > 0).and_then(Ages::oldest);
        LaneMetrics {
            name: queue.name.to_string(),
            counts: self.lane_counts(lane, running),
            queue_capacity: queue.queue.capacity(),
            delay_capacity: queue.delay_capacity,
            max_concurrency: queue.permits.as_ref().map_or(usize::MAX, Permits::limit),
            permits_in_use: queue.permits.as_ref().map_or(0, Permits::in_use),
            wait,
            run,
            caller_run,
            oldest: oldest.map(|came| self.clock.now().since(came)),
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
            cancelled: sum(Count::Cancelled),
            expired: sum(Count::Expired),
            retries: sum(Count::Retries),
            panics: sum(Count::Panics),
            timeouts: sum(Count::Timeouts),
            ..Counts::default()
        };
        counts.attempts = sum(Count::Attempts);
        counts.running = running;
        counts.delayed = queue.delays.len() as u64;
        counts.caller_run = sum(Count::CallerRun);
        counts.rejected = sum(Count::Rejected);
        counts.dropped = sum(Count::Dropped);
        (counts.accepted, counts.queued) = self.accepted(queue, || sum(Count::Taken) + sum(Count::Admitted));
        counts.submitted = counts.accepted + counts.rejected + counts.caller_run + counts.dropped;
        counts
    }

    /// How many attempts run now, by lane. One look at each runner's word, so never more than there are runners.
    pub(crate) fn running(&self) -> Vec<u64> {
        let mut running = vec![0; self.lanes.len()];
        for station in self.stations() {
            let runner = &station.runner;
            let runs = runner.word.read().phase() == Phase::Run;
            if let Some(now) = runner.running().filter(|_| runs) {
                running[now.lane] += 1;
                let _ = self.has_run_since(&station, now);
            }
        }
        running
    }

    /// When the attempt started, or for one that is not timed, when it was first seen: nothing at that look.
    fn has_run_since(&self, station: &Station<P>, now: Running) -> Option<Moment> {
        if now.since != 0 {
            return Some(Moment::from_nanos(now.since));
        }
        let mut seen = station.seen.lock();
        let (task, attempt, at) = *seen;
        if (task, attempt) == (now.task, now.attempt) {
            return Some(at);
        }
        // The clock is read after the attempt was seen, so that it has started by then.
        *seen = (now.task, now.attempt, self.clock.now());
        None
    }

    /// What was accepted, and how much of it is queued. Under the drain's lock: what lies in a queue once the pool is
    /// finalized came too late, will be refused, and is not counted.
    fn accepted(&self, lane: &LaneQueue<P>, taken: impl Fn() -> u64) -> (u64, u64) {
        let drain = self.drain.lock();
        let taken = taken();
        let (others, queued) = match drain.is_finalized() {
            true => (lane.passed(), 0),
            false => lane.census(),
        };
        (lane.tell_accepted(taken + others), queued)
    }

    pub(crate) fn status(&self) -> PoolStatus {
        let now = self.clock.now();
        let workers = self.workers.iter().map(|worker| self.worker_status(worker, now));
        let callers = self.callers.lock().clone();
        let callers = callers.iter().map(|caller| self.station_status("caller", caller, now));
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
        self.stations().iter().all(|station| station.runner.word.read().phase().is_quiet())
    }

    pub(crate) fn worker_status(&self, worker: &WorkerSlot<P>, now: Moment) -> WorkerStatus {
        self.station_status(&worker.name, &worker.station, now)
    }

    pub(crate) fn station_status(&self, name: &str, station: &Station<P>, now: Moment) -> WorkerStatus {
        let name = name.to_string();
        let Some((running, task)) = self.running_task(station) else {
            return WorkerStatus { name, task: None, running_for: None, since_progress: None };
        };
        let ran = self.has_run_since(station, running).map(|since| now.since(since));
        let progress = Some(running.progress).filter(|at| *at != 0);
        WorkerStatus {
            name,
            task: Some(task),
            // Of what is not timed, a zero would only say that it was seen just now.
            running_for: ran.filter(|ran| running.since != 0 || !ran.is_zero()),
            since_progress: progress.map(|at| now.since(Moment::from_nanos(at))),
        }
    }

    pub(crate) fn running_task(&self, station: &Station<P>) -> Option<(Running, TaskInfo)> {
        let running = station.runner.running()?;
        let id = TaskId::from_u64(running.task)?;
        let current = station.current.lock();
        let slot = current.as_ref().filter(|slot| slot.id == id);
        let slot = slot.map(|slot| &**slot);
        Some((running, self.lanes.get(running.lane)?.info(id, running.attempt, slot)))
    }
}
