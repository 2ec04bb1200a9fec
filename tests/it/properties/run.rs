//! A script, played.

use super::book::Book;
use super::script::{End, LANES, Op, Plan, Script, Settings, Step};
use crate::support::{LONG, Ledger, Tracked, assert_rest, build, eventually};
use dockhand::letter::LetterFate;
use dockhand::{
    Cause, Lane, OverloadPolicy, PoolBuilder, Processor, RetryDecision, TaskContext, TaskSubmitter,
    WorkerPool,
};
use std::panic::resume_unwind;
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::Duration;

pub(super) struct Parcel {
    tracked: Tracked,
    plan: Plan,
    /// It shuts the pool down.
    ends_pool: Option<Duration>,
}

impl Parcel {
    pub(super) fn number(&self) -> u64 {
        self.tracked.id
    }
}

type Pool = Arc<WorkerPool<Arc<Dock>>>;

/// The processor, and all that the script's threads share.
#[derive(Default)]
struct Dock {
    ledger: Ledger,
    book: Book,
    /// A circle, until the pool lets go of its processor.
    lanes: OnceLock<Vec<TaskSubmitter<Arc<Dock>>>>,
    pool: OnceLock<Weak<WorkerPool<Arc<Dock>>>>,
}

impl Dock {
    fn parcel(&self, plan: &Plan) -> Parcel {
        Parcel { tracked: self.ledger.track(), plan: plan.clone(), ends_pool: None }
    }

    fn lanes(&self) -> &[TaskSubmitter<Arc<Dock>>] {
        self.lanes.get().expect("set before the first submit")
    }

    fn follow_up(&self, parcel: &Parcel, cx: &TaskContext<'_, Parcel>) {
        let Some(follow_up) = &parcel.plan.follow_up else { return };
        let next = self.parcel(&follow_up.plan);
        let number = next.number();
        let answer = if follow_up.by_submitter {
            // From inside it does not wait, however long it may.
            self.lanes()[follow_up.lane].submit_timeout(next, Duration::MAX)
        } else {
            cx.submit(LANES[follow_up.lane], next)
        };
        self.book.answer(number, answer);
    }

    fn end_pool(&self, window: Duration) {
        let Some(pool) = self.pool.get().and_then(Weak::upgrade) else { return };
        let report = pool.shutdown(window);
        report.abandoned.iter().for_each(|shed| self.book.shed(shed));
    }
}

impl Processor for Dock {
    type Payload = Parcel;
    type Output = Tracked;
    type Error = String;

    fn process(&self, parcel: &mut Parcel, cx: &TaskContext<'_, Parcel>) -> Result<Tracked, String> {
        self.book.attempt();
        let steps = &parcel.plan.steps;
        let step = steps[(cx.attempt() as usize).min(steps.len()) - 1];
        match step {
            Step::Ok => {
                self.follow_up(parcel, cx);
                if let Some(window) = parcel.ends_pool {
                    self.end_pool(window);
                }
                self.book.ok(parcel.number(), cx.attempt());
                Ok(self.ledger.track())
            }
            Step::Fail => Err("as planned".to_string()),
            Step::Panic => {
                self.book.panics();
                // Unlike `panic!` it leaves stderr alone.
                resume_unwind(Box::new("as planned"))
            }
        }
    }
}

fn builder(dock: &Arc<Dock>, settings: &Settings) -> PoolBuilder<Arc<Dock>> {
    let Settings { overload, retries_panics, discards_every, .. } = settings.clone();
    let (at_sink, at_shed) = (dock.clone(), dock.clone());
    let builder = WorkerPool::builder(dock.clone())
        .workers(settings.workers)
        .queue_capacity(settings.capacity)
        .dead_letter_capacity(settings.letters)
        .retry(settings.retry.clone())
        .lane(Lane::new(LANES[0]).overload(overload[0]).delay_capacity(settings.delay_capacity))
        .lane(Lane::new(LANES[1]).overload(overload[1]))
        .overload(overload[2])
        .dead_letter_sink(move |letter| {
            at_sink.book.letter(letter.payload.number(), letter.info.task.id);
            let is_discarded = letter.payload.number() % discards_every == 0;
            if is_discarded { LetterFate::Discard } else { LetterFate::Keep }
        })
        .on_shed(move |shed| at_shed.book.shed(&shed));
    if !retries_panics {
        return builder;
    }
    builder.classify(|cause| match cause {
        Cause::Panicked(_) => RetryDecision::RetryAfter(Duration::from_micros(50)),
        _ => RetryDecision::Retry,
    })
}

impl Dock {
    /// An operation that needs no pool.
    fn submit(&self, op: &Op) {
        let offer = |plan: &Plan| {
            let parcel = self.parcel(plan);
            (parcel.number(), parcel)
        };
        match op {
            Op::Submit { lane, plan } => {
                let (number, parcel) = offer(plan);
                self.book.answer(number, self.lanes()[*lane].submit(parcel));
            }
            Op::SubmitTimeout { lane, plan, timeout } => {
                let (number, parcel) = offer(plan);
                self.book.answer(number, self.lanes()[*lane].submit_timeout(parcel, *timeout));
            }
            Op::SubmitBatch { lane, plans } => {
                let (numbers, parcels): (Vec<_>, Vec<_>) = plans.iter().map(offer).unzip();
                self.book.answers(&numbers, self.lanes()[*lane].submit_batch(parcels));
            }
            Op::SubmitWith { lane, plan, overload } => {
                let (number, parcel) = offer(plan);
                let submitter = self.lanes()[*lane].with_overload(*overload);
                self.book.answer(number, submitter.submit(parcel));
            }
            Op::WaitIdle | Op::RequeueAll | Op::DrainLetters | Op::TakeAndPutBack => unreachable!("{op:?}"),
        }
    }

    fn apply(&self, pool: &Pool, op: &Op) {
        match op {
            Op::WaitIdle => {
                pool.wait_idle(LONG).expect("everything ends");
                self.assert_quiet(pool);
            }
            Op::RequeueAll => self.requeue_all(pool),
            Op::DrainLetters => drop(pool.dead_letters().drain()),
            Op::TakeAndPutBack => {
                let oldest = pool.dead_letters().list().first().map(|info| info.task.id);
                let letter = oldest.and_then(|id| pool.dead_letters().take(id));
                letter.into_iter().for_each(|letter| pool.dead_letters().put_back(letter));
            }
            _ => self.submit(op),
        }
    }

    fn requeue_all(&self, pool: &Pool) {
        for info in pool.dead_letters().list() {
            self.book.requeued(info.task.id, pool.dead_letters().requeue(info.task.id));
        }
    }

    /// Nothing moves: the law holds, everything has ended, and the only payloads are those of letters.
    fn assert_quiet(&self, pool: &Pool) {
        assert_rest(pool);
        self.book.assert_ended();
        let metrics = pool.metrics();
        self.book.assert_counted(&metrics.counts);
        assert_eq!(metrics.hook_panics, 0);
        assert_eq!(metrics.letters, pool.dead_letters().len());
        assert_eq!(self.ledger.alive(), metrics.letters as u64, "payloads that nobody has");
    }
}

/// Ends the pool; it is given back unless it was dropped.
fn end(dock: &Dock, pool: Pool, end: End) -> Option<Pool> {
    let shutdown = |window| {
        let report = pool.shutdown(window);
        report.abandoned.iter().for_each(|shed| dock.book.shed(shed));
    };
    match end {
        End::Shutdown(window) => shutdown(window),
        End::TwoShutdowns(window) => thread::scope(|scope| {
            scope.spawn(|| shutdown(LONG));
            shutdown(window);
        }),
        End::FromInside(window) => {
            let plan = Plan { steps: vec![Step::Ok], follow_up: None };
            let parcel = Parcel { ends_pool: Some(window), ..dock.parcel(&plan) };
            let number = parcel.number();
            let patient = dock.lanes()[0].with_overload(OverloadPolicy::Reject);
            dock.book.answer(number, patient.submit_timeout(parcel, LONG));
            shutdown(LONG);
        }
        End::Drop(_) => {
            drop(pool);
            return None;
        }
    }
    Some(pool)
}

pub(super) fn run(script: &Script) {
    let dock = Arc::new(Dock::default());
    let drop_timeout = if let End::Drop(window) = script.end { window } else { LONG };
    let pool = build(builder(&dock, &script.pool).drop_timeout(drop_timeout));
    let lanes = LANES.map(|lane| pool.submitter_for(lane).unwrap()).to_vec();
    assert!(dock.lanes.set(lanes).is_ok() && dock.pool.set(Arc::downgrade(&pool)).is_ok());

    script.before.iter().for_each(|op| dock.apply(&pool, op));
    let pool = thread::scope(|scope| {
        scope.spawn(|| script.beside.iter().for_each(|op| dock.submit(op)));
        end(&dock, pool, script.end)
    });
    // An attempt that a shutdown has given up comes back a moment later.
    if let Some(pool) = pool {
        eventually("only letters hold a payload", || dock.ledger.alive() == pool.metrics().letters as u64);
        dock.requeue_all(&pool);
        dock.assert_quiet(&pool);
    }
    eventually("every payload is gone", || dock.ledger.alive() == 0);
    dock.ledger.assert_all_gone();
    dock.book.assert_ended();
}
