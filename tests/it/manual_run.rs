//! What the scripts of `manual_script` do, and what must hold after each step.

use crate::manual_book::{Book, Load, Step};
use crate::support::{assert_conserved, assert_rest, panic_quietly};
use dockhand::letter::LetterFate;
use dockhand::{
    CancelOutcome, Lane, ManualClock, ManualPool, Outcome, OverloadPolicy, ProcessorFn, RetryDecision,
    RetryPolicy, TaskContext, TaskHandle, TaskOptions, TaskStatus, TaskSubmitter, WorkerPool, processor_fn,
};
use std::sync::Arc;
use std::time::Duration;

pub(crate) const LANES: [&str; 2] = ["limited", "default"];
const RETRY: Duration = Duration::from_millis(7);
const MAX_RETRIES: u32 = 2;

type Pool = ManualPool<ProcessorFn<Load, (), String>>;

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Submit { lane: usize, policy: OverloadPolicy, how: How, steps: Vec<Step> },
    Advance(u64),
    AdvanceToDue,
    RunOne,
    RunAll,
    Cancel(usize),
    Wait(usize, u64),
    Drop(usize),
    Limit(usize),
    WaitIdle(u64),
    Letters,
    Requeue,
    Close,
}

#[derive(Clone, Debug)]
pub(crate) struct How {
    pub(crate) tracked: bool,
    pub(crate) timeout: Option<u64>,
    pub(crate) delay: Option<u64>,
    pub(crate) ttl: Option<u64>,
    pub(crate) key: Option<u8>,
}

/// The processor: checks what must hold of a start, then does the step of its attempt.
fn process(load: &mut Load, cx: &TaskContext<'_, Load>, clock: &ManualClock) -> Result<(), String> {
    let (now, book) = (clock.now(), Arc::clone(&load.book));
    load.calls += 1;
    book.wrong(now < load.due, || format!("{} early: {:?}", load.id, load.due - now));
    book.wrong(load.deadline.is_some_and(|at| now >= at), || format!("{} started late", load.id));
    book.wrong(cx.attempt() > MAX_RETRIES + 1, || format!("{}: attempt {}", load.id, cx.attempt()));
    let lane = LANES.iter().position(|lane| *lane == cx.lane()).unwrap();
    book.running.lock().unwrap()[lane] += 1;
    let (running, limit) = (book.running.lock().unwrap()[0], *book.limit.lock().unwrap());
    book.wrong(lane == 0 && running > limit, || format!("{running} under a limit of {limit}"));
    let step = *load.steps.get(load.calls as usize - 1).or(load.steps.last()).unwrap();
    let answer = match step {
        Step::Ok => Ok(()),
        Step::Fail | Step::Panic => Err("as planned".to_string()),
        Step::Work(millis) => {
            clock.advance(Duration::from_millis(millis));
            Ok(())
        }
        Step::Follow(lane) => {
            book.answered(cx.submit(LANES[lane], book.load(vec![Step::Ok], now, None)));
            Ok(())
        }
    };
    book.running.lock().unwrap()[lane] -= 1;
    load.due = clock.now() + RETRY;
    match step {
        Step::Panic => panic_quietly(),
        _ if answer.is_ok() => book.end(load, "succeeded"),
        _ => {}
    }
    answer
}

fn build(limit: usize, overload: [OverloadPolicy; 2], clock: &ManualClock, book: &Arc<Book>) -> Pool {
    let (moved, shed, reset) = (clock.clone(), Arc::clone(book), clock.clone());
    *book.limit.lock().unwrap() = limit;
    let lane =
        Lane::new(LANES[0]).max_concurrency(limit).queue_capacity(3).delay_capacity(4).overload(overload[0]);
    WorkerPool::builder(processor_fn(move |load: &mut Load, cx: &TaskContext<'_, Load>| {
        process(load, cx, &moved)
    }))
    .lane(lane)
    .queue_capacity(2)
    .overload(overload[1])
    .dead_letter_capacity(2)
    .retry(RetryPolicy::fixed(RETRY).max_retries(MAX_RETRIES))
    .classify(|_| RetryDecision::Retry)
    .dead_letter_sink(move |letter| {
        // Offered again it is a new task, from its first step on.
        let load = &mut letter.payload;
        (load.calls, load.due, load.deadline) = (0, reset.now(), None);
        if !*load.book.discards.lock().unwrap() {
            return LetterFate::Keep;
        }
        load.book.end(load, "letter");
        LetterFate::Discard
    })
    .on_shed(move |away| {
        let what = match away.outcome {
            Outcome::Evicted => "evicted",
            Outcome::Expired => "expired",
            Outcome::Abandoned => "abandoned",
            Outcome::DeadLettered => "letter",
            other => panic!("{other:?}"),
        };
        shed.end(&away.payload, what);
    })
    .build_manual_on(clock)
    .unwrap()
}

pub(crate) struct Run {
    pool: Pool,
    clock: ManualClock,
    book: Arc<Book>,
    handles: Vec<TaskHandle<ProcessorFn<Load, (), String>>>,
}

impl Run {
    pub(crate) fn new(limit: usize, overload: [OverloadPolicy; 2]) -> Self {
        let (clock, book) = (ManualClock::new(), Arc::new(Book::default()));
        Run { pool: build(limit, overload, &clock, &book), clock, book, handles: Vec::new() }
    }

    /// Ends the pool, and looks at everything that it was given.
    pub(crate) fn end(mut self, window: Option<u64>) {
        if let Some(millis) = window {
            for shed in self.pool.shutdown(Duration::from_millis(millis)).abandoned {
                self.book.end(&shed.payload, "abandoned");
            }
            assert_rest(&self.pool);
            self.step(Op::Letters);
            let (counts, book) = (self.pool.metrics().counts, &self.book);
            let told =
                ["succeeded", "cancelled", "expired", "evicted", "abandoned"].map(|end| book.count(end));
            let counted =
                [counts.succeeded, counts.cancelled, counts.expired, counts.evicted, counts.abandoned];
            assert_eq!(counted, told, "{counts:?}");
            for handle in &mut self.handles {
                assert!(matches!(handle.status(), TaskStatus::Ended(_)), "{handle:?}");
            }
        } else {
            self.step(Op::Letters);
            *self.book.discards.lock().unwrap() = true;
        }
        let Run { pool, book, handles, .. } = self;
        drop(pool);
        drop(handles);
        assert_eq!(*book.wrong.lock().unwrap(), [""; 0]);
        let (made, ends) = (*book.made.lock().unwrap(), book.ends.lock().unwrap());
        let dropped = book.dropped.lock().unwrap();
        for id in 1..=made {
            assert_eq!(ends.get(&id).map(Vec::len), Some(1), "{id}: {:?}", ends.get(&id));
            assert_eq!(dropped.get(&id), Some(&1), "{id}");
        }
    }

    fn submitter(&self, lane: usize) -> TaskSubmitter<ProcessorFn<Load, (), String>> {
        self.pool.submitter_for(LANES[lane]).unwrap()
    }

    fn submit(&mut self, lane: usize, policy: OverloadPolicy, how: &How, steps: Vec<Step>) {
        let submitter = self.submitter(lane).with_overload(policy);
        let (ms, now) = (Duration::from_millis, self.clock.now());
        let mut options = TaskOptions::new();
        let plain = how.timeout.is_some();
        let (delay, ttl) = (how.delay.filter(|_| !plain), how.ttl.filter(|_| !plain));
        options = delay.map_or(options.clone(), |delay| options.delay(ms(delay)));
        options = ttl.map_or(options.clone(), |ttl| options.ttl(ms(ttl)));
        options = how.key.map_or(options.clone(), |key| options.key(key.to_string()));
        let due = now + ms(delay.unwrap_or(0));
        let load = self.book.load(steps, due, ttl.map(|ttl| now + ms(ttl)));
        match (how.tracked, how.timeout) {
            (_, Some(timeout)) => self.book.answered(submitter.submit_timeout(load, ms(timeout))),
            (true, None) => match submitter.submit_tracked_with(load, options) {
                Ok(handle) => self.handles.push(handle),
                Err(refused) => self.book.end(&refused.into_payload(), "rejected or dropped"),
            },
            (false, None) => self.book.answered(submitter.submit_with(load, options)),
        }
    }

    pub(crate) fn step(&mut self, op: Op) {
        let ms = Duration::from_millis;
        let pick = |n: usize| n % self.handles.len().max(1);
        match op {
            Op::Submit { lane, policy, how, steps } => self.submit(lane, policy, &how, steps),
            Op::Advance(millis) => self.pool.advance(ms(millis)),
            Op::AdvanceToDue => drop(self.pool.advance_to_next_due()),
            Op::RunOne => drop(self.pool.run_one()),
            Op::RunAll => drop(self.pool.run_until_idle()),
            Op::Cancel(n) => {
                if let Some(handle) = self.handles.get(pick(n)) {
                    let ended = matches!(handle.status(), TaskStatus::Ended(_));
                    match handle.cancel() {
                        CancelOutcome::Cancelled(load) => self.book.end(&load, "cancelled"),
                        CancelOutcome::TooLate => assert!(ended, "{handle:?}"),
                        CancelOutcome::Requested => panic!("nothing runs"),
                    }
                }
            }
            Op::Wait(n, millis) => {
                let place = pick(n);
                let began = self.clock.now();
                if let Some(handle) = self.handles.get_mut(place) {
                    let answer = handle.wait_timeout(ms(millis));
                    let is_ended = matches!(handle.status(), TaskStatus::Ended(_));
                    // A second wait has nothing to get.
                    assert!(answer.is_none() || is_ended, "{answer:?}");
                    assert!(is_ended || self.clock.now() >= began + ms(millis));
                }
            }
            Op::Drop(n) if !self.handles.is_empty() => drop(self.handles.swap_remove(pick(n))),
            Op::Drop(_) => {}
            Op::Limit(limit) => {
                *self.book.limit.lock().unwrap() = limit;
                self.pool.set_max_concurrency(LANES[0], limit).unwrap();
            }
            Op::WaitIdle(millis) => {
                let end = self.clock.now() + ms(millis);
                match self.pool.wait_idle(ms(millis)) {
                    Ok(()) => assert_rest(&self.pool),
                    Err(_) => assert!(self.clock.now() >= end),
                }
            }
            Op::Letters => {
                for letter in self.pool.dead_letters().drain() {
                    self.book.end(&letter.payload, "letter");
                }
            }
            Op::Requeue => drop(self.pool.dead_letters().requeue_all()),
            Op::Close => self.pool.begin_shutdown(),
        }
        assert_conserved(&*self.pool);
        let metrics = self.pool.metrics();
        assert_eq!(
            (metrics.counts.running, metrics.busy_workers, metrics.lanes[0].permits_in_use),
            (0, 0, 0)
        );
        assert!(self.pool.status().workers[0].task.is_none());
        assert!(metrics.lanes.iter().all(|lane| lane.counts.queued <= lane.queue_capacity as u64));
    }
}
