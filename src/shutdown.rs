//! The end of a pool: close, drain within a window, account for the rest.
//!
//! ```text
//! shutdown(timeout)
//!   close: no new work; everybody is woken
//!   the window ends at the earliest end that any caller asked for
//!   wait until nothing is left that can still run, or the window is over
//!   what is left?  → end_window
//!     aborting; fence; everybody is woken; running tasks see it in their context
//!     wait until nobody is inside the gate
//!     sweep lanes and heaps, then look at the words until nobody looks: finalized
//!     100 ms of grace: an attempt that comes back decides for itself
//!     mark what still runs: abandoned, told here or by whoever is telling of it
//!   hand out what was abandoned, each payload to one caller
//! ```
//!
//! A retry that would be due after the window waits as any other, and nobody waits for it: the sweep hands it back.
//!
//! From *inside* (a task or hook of this pool) a call waits for nothing that waits for it: attempts whose thread is in
//! `shutdown` count as blocked. Inside calls wait until only blocked attempts run; queued work is waited for only while
//! a worker lives that is not blocked. Only calls from outside mark blocked attempts, join threads, and let go of the
//! user's code. Nobody waits for another caller's report: what is abandoned collects in the drain.

use crate::clock::Moment;
use crate::error::TaskError;
use crate::event::Event;
use crate::inside;
use crate::job::{Held, Place, Taken};
use crate::metrics::{Counts, WorkerStatus};
use crate::processor::Processor;
use crate::shared::{Shared, Station, Telling, Turn};
use crate::slot::Slot;
use crate::step::AtEnd;
use crate::sync::{Ordering, yield_now};
use crate::tally::Count;
use crate::task::{Outcome, Shed, TaskInfo};
use crate::word::{EndTeller, HasRunner, Phase, Reading, Runner};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How long an attempt has to come back once the window is over.
pub(crate) const GRACE: Duration = Duration::from_millis(100);

/// What became of everything, as far as this call saw it.
///
/// ```
/// use dockhand::{WorkerPool, processor_fn};
/// use std::time::Duration;
///
/// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build()?;
/// for n in 0..100 {
///     pool.submit(n).into_result()?;
/// }
/// let report = pool.shutdown(Duration::from_secs(10));
/// assert!(report.is_clean());
/// assert_eq!(report.counts.succeeded, 100);
/// assert!(report.counts.is_conserved());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "what was abandoned comes back in it"]
#[non_exhaustive]
pub struct ShutdownReport<T> {
    /// Tasks that did not end otherwise, with their payloads, attempts and last errors, except those that still run. Each is
    /// handed out once, to the first call that returns after it was abandoned.
    pub abandoned: Vec<Shed<T>>,
    /// Threads that have not come back: named, and no longer waited for. Their late results are ignored.
    pub still_running: Vec<WorkerStatus>,
    /// The counts since the pool was built.
    pub counts: Counts,
    /// How long the call took.
    pub took: Duration,
}

impl<T> ShutdownReport<T> {
    /// Whether everything that was accepted has run to its end, and all threads have come back.
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// use std::time::Duration;
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build()?;
    /// assert!(pool.shutdown(Duration::from_secs(10)).is_clean());
    /// # Ok::<(), dockhand::BuildError>(())
    /// ```
    pub fn is_clean(&self) -> bool {
        self.abandoned.is_empty() && self.still_running.is_empty()
    }
}

impl<T> fmt::Debug for ShutdownReport<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShutdownReport")
            .field("abandoned", &self.abandoned)
            .field("still_running", &self.still_running)
            .field("counts", &self.counts)
            .field("took", &self.took)
            .finish()
    }
}

/// Where a shutdown was called from.
pub(crate) enum Caller {
    Outside,
    /// With the attempts that this call blocks.
    Inside(Vec<Arc<dyn HasRunner>>),
}

impl Caller {
    pub(crate) fn is_inside(&self) -> bool {
        matches!(self, Caller::Inside(_))
    }
}

/// What a call from inside does with work for which no free worker is left.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leftovers {
    /// It goes on afterwards, unless the window is over.
    LeaveInTime,
    /// The pool is gone: it is handed back.
    HandBack,
}

/// Counts the caller's attempts as blocked while it waits.
struct Blocked<'a, P: Processor> {
    shared: &'a Shared<P>,
    caller: &'a Caller,
}

impl<'a, P: Processor> Blocked<'a, P> {
    fn new(shared: &'a Shared<P>, caller: &'a Caller) -> Self {
        if let Caller::Inside(own) = caller {
            own.iter().for_each(|own| own.runner().block());
            // Others may have been waiting for these attempts.
            shared.idle.tell();
        }
        Blocked { shared, caller }
    }
}

impl<P: Processor> Drop for Blocked<'_, P> {
    fn drop(&mut self) {
        if let Caller::Inside(own) = self.caller {
            own.iter().for_each(|own| own.runner().unblock());
            self.shared.idle.tell();
        }
    }
}

impl<P: Processor> Shared<P> {
    pub(crate) fn caller(&self) -> Caller {
        if inside::is_inside(self.id) { Caller::Inside(inside::runners(self.id)) } else { Caller::Outside }
    }

    /// Takes no new work from here on.
    pub(crate) fn close(&self) {
        // Another shutdown could come to its end, and let go of the listeners, before this one has told its begin.
        let telling = self.telling();
        if self.sleep.close() {
            for lane in &self.lanes {
                lane.room.close();
            }
            self.idle.tell();
            // A report says how long at least an attempt has run that is not timed.
            drop(self.running());
            telling.tell(&Event::ShutdownBegun);
        }
    }

    /// Closes, drains until the end of the window, and ends it if something is left. What was abandoned stays in the
    /// drain for the caller to collect.
    pub(crate) fn drain_within(&self, timeout: Duration, caller: &Caller, leftovers: Leftovers) {
        self.close();
        self.end_window_at(self.clock.now().after(timeout));
        let _blocked = Blocked::new(self, caller);
        let spent = self.wait_for(|| self.is_spent(caller), || self.window_end(), AtEnd::Stop);
        let done = match caller {
            Caller::Inside(_) if leftovers == Leftovers::LeaveInTime => self.clock.now() < self.window_end(),
            _ => spent && self.drain.is_finalized(),
        };
        if !done {
            self.end_window(caller);
        }
    }

    fn end_window_at(&self, end: Moment) {
        // Ordering: AcqRel, partner of the load in `window_end`.
        if self.window_end.fetch_min(end.nanos(), Ordering::AcqRel) > end.nanos() {
            self.idle.tell();
        }
    }

    /// Whether nothing is left that can still run before the end of the window, as far as `caller` may wait for it.
    fn is_spent(&self, caller: &Caller) -> bool {
        match caller {
            // Where nothing waits at all the workers leave by themselves, and the last one finalizes: what was
            // accepted at the very last is still run. Where something waits that will not be due, they stay.
            Caller::Outside if self.drain.is_finalized() => !self.somebody_runs(caller),
            Caller::Outside => self.is_at_rest(false, || self.runs_out(caller) && self.something_is_late()),
            Caller::Inside(_) => {
                self.is_at_rest(true, || self.runs_out(caller) || !self.some_worker_is_free())
            }
        }
    }

    /// Something waits that will not be due in time, or in a paused lane, for which workers would stay.
    fn something_is_late(&self) -> bool {
        self.lanes.iter().any(|lane| !lane.delays.is_empty() || (lane.is_paused() && lane.queued() > 0))
    }

    /// Nothing is queued, and nothing that is delayed will be due in time. What a paused lane holds cannot run; for a call
    /// from inside, nor what waits for a permit, since at rest only blocked attempts have one.
    fn runs_out(&self, caller: &Caller) -> bool {
        let end = self.window_end();
        self.lanes.iter().all(|lane| {
            let due = lane.delays.next_due();
            let in_time = due != Moment::NEVER && due <= end;
            let is_held = lane.is_paused() || (caller.is_inside() && !lane.has_permit());
            is_held || (!in_time && lane.queue.is_empty())
        })
    }

    /// Whether an attempt runs that `caller` waits for.
    fn somebody_runs(&self, caller: &Caller) -> bool {
        if !caller.is_inside() && self.shedding.passed().is_none() {
            return true;
        }
        self.stations().iter().any(|station| {
            let runner = &station.runner;
            let is_out = matches!(
                runner.word.read().phase(),
                Phase::Look | Phase::Run | Phase::Ending | Phase::Tidying
            );
            is_out && !(caller.is_inside() && runner.is_blocked())
        })
    }

    fn some_worker_is_free(&self) -> bool {
        self.workers.iter().any(|worker| {
            let gone = matches!(
                worker.station.runner.word.read().phase(),
                Phase::Left | Phase::Ended | Phase::Marked
            );
            !gone && !worker.station.runner.is_blocked()
        })
    }

    /// The window is over: nothing is started any more, what waits is swept, what runs gets its grace and is then given
    /// up. May be called again, and by several at once.
    pub(crate) fn end_window(&self, caller: &Caller) {
        self.sleep.abort();
        // The earliest end of the grace holds, however many calls there are.
        let grace_end = self.clock.now().after(GRACE);
        self.grace_end.fetch_min(grace_end.nanos(), Ordering::AcqRel);
        while self.gate.passed().is_none() {
            // No user code runs inside, so this is as long as a push.
            yield_now();
        }
        self.sweep();
        self.wait_for(|| !self.somebody_runs(caller), || self.grace_end(), AtEnd::Stop);
        for station in self.stations() {
            self.give_up(&station, caller);
        }
        self.idle.tell();
    }

    /// Moves everything that waits into the report. Nothing is dropped, and nobody woken, under the drain's lock.
    fn sweep(&self) {
        let telling = self.telling();
        let mut told = Vec::new();
        self.drain.finalize(
            |abandoned| {
                self.move_waiting(|taken| {
                    let Taken { lane, was, waiting } = taken;
                    let recorder = self.lanes[lane].recorder();
                    match waiting.end(Outcome::Abandoned) {
                        Some(job) => {
                            if was == Place::Queued {
                                recorder.add(Count::Taken);
                            }
                            recorder.add(Count::Abandoned);
                            if self.has_events || job.slot.is_some() {
                                let slot = job.slot.clone();
                                told.push((
                                    self.lanes[lane].info(job.id, job.attempts, slot.as_deref()),
                                    slot,
                                ));
                            }
                            abandoned.push(Held { lane, was, job });
                        }
                        None => self.lanes[lane].pass_dead(was),
                    }
                });
            },
            || self.somebody_looks(),
        );
        for (info, slot) in told {
            self.free_key(slot.as_ref());
            telling.tell_ended(&info, Outcome::Abandoned);
            if let Some(slot) = slot {
                self.resolve(&slot, Err(TaskError::Abandoned));
            }
        }
    }

    /// Takes the outcome of an attempt that has not come back, or sees it decided.
    fn give_up(&self, station: &Station<P>, caller: &Caller) {
        let runner = &station.runner;
        if caller.is_inside() && runner.is_blocked() {
            return;
        }
        loop {
            let seen = runner.word.read();
            match seen.phase() {
                Phase::Run => {
                    // What it runs belongs to the reading: a mark of another attempt fails.
                    let Some((running, info)) = self.running_task(station) else { continue };
                    let telling = self.telling();
                    if let Some((teller, slot)) = self.take_away(station, seen, running.lane) {
                        return self.tell_given_up(slot, &info, teller, &telling);
                    }
                }
                // Counting or taking: no user code, so it will be over soon.
                Phase::Ending | Phase::Look => yield_now(),
                _ => return,
            }
        }
    }

    /// Marks the attempt that was seen, and counts its end: under the lock that the runner, when it comes back, and a teller
    /// who tells the end have to pass.
    fn take_away(
        &self,
        station: &Station<P>,
        seen: Reading,
        lane: usize,
    ) -> Option<(EndTeller, Option<Arc<Slot<P>>>)> {
        let current = station.current.lock();
        let teller = station.runner.word.mark(seen)?;
        let slot = current.clone();
        self.lanes[lane].recorder().add(Count::Abandoned);
        if let Some(slot) = &slot {
            slot.stage.finish(Outcome::Abandoned);
            self.free_key(Some(slot));
        }
        Some((teller, slot))
    }

    fn tell_given_up(
        &self,
        slot: Option<Arc<Slot<P>>>,
        info: &TaskInfo,
        teller: EndTeller,
        telling: &Telling<'_, P>,
    ) {
        if teller == EndTeller::Shutdown {
            telling.tell_ended(info, Outcome::Abandoned);
        }
        if let Some(slot) = slot {
            self.resolve(&slot, Err(TaskError::Abandoned));
        }
    }

    /// Waits for workers that have nothing left but their stop hook.
    pub(crate) fn wait_for_ends(&self) {
        // A manual pool's worker leaves by a turn, whatever its clock says.
        while self.turn() != Turn::Nothing {}
        let end = self.grace_end().min(self.window_end().after(GRACE));
        let nobody_runs_on = || {
            self.workers.iter().all(|worker| {
                !matches!(worker.station.runner.word.read().phase(), Phase::Idle | Phase::Look | Phase::Left)
            })
        };
        self.wait_for(nobody_runs_on, || end, AtEnd::Stop);
    }

    /// The report of a call that began at `started`.
    pub(crate) fn report(&self, started: Moment, caller: &Caller) -> ShutdownReport<P::Payload> {
        let held = self.drain.collect();
        let abandoned = held.into_iter().map(|held| self.to_shed(held, Outcome::Abandoned)).collect();
        let now = self.clock.now();
        let is_out = |runner: &Runner| {
            let phase = runner.word.read().phase();
            // A call from inside does not wait for workers that leave; one that is still in its stop hook is not named.
            phase.is_busy() || (phase == Phase::Left && !caller.is_inside())
        };
        let workers = self.workers.iter().filter(|worker| is_out(&worker.station.runner));
        let mut still_running: Vec<_> = workers.map(|worker| self.worker_status(worker, now)).collect();
        for caller in self.callers.lock().iter().filter(|caller| is_out(&caller.runner)) {
            still_running.push(self.station_status("caller", caller, now));
        }
        ShutdownReport { abandoned, still_running, counts: self.counts(), took: now.since(started) }
    }
}
