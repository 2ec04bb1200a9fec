//! An answer is given once: whatever asks again is told that it was taken, in every order of waits, polls and cancels.

use crate::cancel::outcome_of;
use crate::futures::block_on;
use crate::support::{Ledger, Tracked, Watchdog, build, panic_quietly};
use dockhand::{
    CancelOutcome, Lane, ManualPool, Outcome, OverloadPolicy, ProcessorFn, TaskError, TaskHandle,
    TaskOptions, TaskStatus, WorkerPool, processor_fn,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// What a task comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    Succeeded,
    Failed,
    Panicked,
    Cancelled,
    Expired,
    Evicted,
    Abandoned,
}

const ENDS: [Ends; 7] = [
    Ends::Succeeded,
    Ends::Failed,
    Ends::Panicked,
    Ends::Cancelled,
    Ends::Expired,
    Ends::Evicted,
    Ends::Abandoned,
];

impl Ends {
    fn outcome(self) -> Outcome {
        match self {
            Ends::Succeeded => Outcome::Succeeded,
            Ends::Failed | Ends::Panicked => Outcome::DeadLettered,
            Ends::Cancelled => Outcome::Cancelled,
            Ends::Expired => Outcome::Expired,
            Ends::Evicted => Outcome::Evicted,
            Ends::Abandoned => Outcome::Abandoned,
        }
    }
}

/// Its outputs are counted.
type Makes = ProcessorFn<Ends, Tracked, String>;
type Handle = TaskHandle<Makes>;
type Answer = Result<Tracked, TaskError<String>>;

fn makes(outputs: &Ledger) -> Makes {
    let outputs = outputs.clone();
    processor_fn(move |ends: &mut Ends, _cx| match ends {
        Ends::Failed => Err("as planned".to_string()),
        Ends::Panicked => panic_quietly(),
        _ => Ok(outputs.track()),
    })
}

/// A task that has ended like that. Its handle was polled before, if that is asked for.
fn ended(ends: Ends, is_polled: bool, outputs: &Ledger) -> (ManualPool<Makes>, Handle) {
    let builder = WorkerPool::builder(makes(outputs)).queue_capacity(1);
    let pool = builder.overload(OverloadPolicy::DropOldest).build_manual().unwrap();
    let submitter = pool.submitter();
    let second = Duration::from_secs(1);
    let mut handle = submitter.submit_tracked_with(ends, TaskOptions::new().ttl(second)).unwrap();
    if is_polled {
        assert!(poll(&mut handle).is_pending());
    }
    match ends {
        Ends::Succeeded | Ends::Failed | Ends::Panicked => assert_eq!(pool.run_until_idle(), 1),
        Ends::Cancelled => assert_eq!(handle.cancel(), CancelOutcome::Cancelled(ends)),
        Ends::Expired => {
            pool.advance(second);
            pool.run_until_idle();
        }
        Ends::Evicted => drop(submitter.submit(ends).into_result().unwrap()),
        Ends::Abandoned => drop(pool.shutdown(Duration::ZERO)),
    }
    (pool, handle)
}

fn poll(handle: &mut Handle) -> Poll<Answer> {
    Pin::new(handle).poll(&mut Context::from_waker(Waker::noop()))
}

/// What a call panics with, which has to.
#[track_caller]
fn panic_of<R>(f: impl FnOnce() -> R) -> String {
    let Err(value) = catch_unwind(AssertUnwindSafe(f)) else { panic!("it does not panic") };
    match value.downcast_ref::<&'static str>() {
        Some(text) => text.to_string(),
        None => *value.downcast::<String>().unwrap(),
    }
}

#[derive(Clone, Copy, Debug)]
enum Act {
    WaitTimeout,
    Poll,
    Cancel,
}

#[derive(Clone, Copy, Debug)]
enum Last {
    Wait,
    Await,
    Drop,
    CancelOnDrop,
}

const ACTS: [Act; 3] = [Act::WaitTimeout, Act::Poll, Act::Cancel];
const LASTS: [Last; 4] = [Last::Wait, Last::Await, Last::Drop, Last::CancelOnDrop];

/// A handle with what it has to say.
struct Asked {
    handle: Handle,
    outcome: Outcome,
    is_taken: bool,
}

impl Asked {
    #[track_caller]
    fn answers(&mut self, answer: &Answer) {
        if self.is_taken {
            assert!(matches!(answer, Err(TaskError::AlreadyTaken)), "{:?}", answer.as_ref().err());
        } else {
            assert_eq!(outcome_of(answer), self.outcome);
            self.is_taken = true;
        }
    }

    fn act(&mut self, act: Act) {
        let id = self.handle.id();
        match act {
            Act::WaitTimeout => {
                let answer = self.handle.wait_timeout(Duration::ZERO);
                self.answers(&answer.expect("it has ended"));
            }
            Act::Poll if self.is_taken => assert_is_told(&panic_of(|| poll(&mut self.handle))),
            Act::Poll => match poll(&mut self.handle) {
                Poll::Ready(answer) => self.answers(&answer),
                Poll::Pending => panic!("it has ended"),
            },
            Act::Cancel => assert_eq!(self.handle.cancel(), CancelOutcome::TooLate),
        }
        assert_eq!((self.handle.status(), self.handle.id()), (TaskStatus::Ended(self.outcome), id));
    }

    fn end(mut self, last: Last) {
        match last {
            Last::Wait => {
                let Asked { handle, outcome, is_taken } = self;
                let answer = handle.wait();
                match is_taken {
                    true => assert!(matches!(answer, Err(TaskError::AlreadyTaken))),
                    false => assert_eq!(outcome_of(&answer), outcome),
                }
            }
            Last::Await if self.is_taken => assert_is_told(&panic_of(|| block_on(self.handle))),
            Last::Await => {
                let answer = block_on(&mut self.handle);
                self.answers(&answer);
            }
            Last::Drop => drop(self.handle),
            Last::CancelOnDrop => drop(self.handle.cancel_on_drop()),
        }
    }
}

#[track_caller]
fn assert_is_told(message: &str) {
    assert!(message.contains("`TaskHandle` polled after completion"), "{message}");
}

/// All scripts of three acts and a last one, for every end.
#[test]
fn an_answer_that_was_given_is_never_told_as_another() {
    let _dog = Watchdog::new();
    for ends in ENDS {
        for number in 0..2 * ACTS.len().pow(3) {
            for last in LASTS {
                let acts = [2, 6, 18].map(|place| ACTS[number / place % ACTS.len()]);
                let outputs = Ledger::new();
                let (pool, handle) = ended(ends, number % 2 == 1, &outputs);
                let mut asked = Asked { handle, outcome: ends.outcome(), is_taken: false };
                acts.into_iter().for_each(|act| asked.act(act));
                asked.end(last);
                drop(pool);
                outputs.assert_all_gone();
            }
        }
    }
}

#[test]
fn a_wait_that_would_deadlock_takes_no_answer() {
    let _dog = Watchdog::new();
    let outputs = Ledger::new();
    let lane = Lane::new("default").max_concurrency(0);
    let pool = WorkerPool::builder(makes(&outputs)).lane(lane).build_manual().unwrap();
    let mut handle = pool.submitter().submit_tracked(Ends::Succeeded).unwrap();
    for _ in 0..2 {
        assert!(matches!(handle.wait_timeout(Duration::MAX), Some(Err(TaskError::WouldDeadlock))));
    }
    pool.set_max_concurrency("default", 1).unwrap();
    assert!(handle.wait().is_ok());
    outputs.assert_all_gone();
}

/// On a pool with threads: a wait that is over at once, though it has no end.
#[test]
fn a_wait_after_the_answer_was_taken_does_not_wait() {
    let _dog = Watchdog::new();
    let outputs = Ledger::new();
    let pool = build(WorkerPool::builder(makes(&outputs)).workers(1));
    let mut handle = pool.submitter().submit_tracked(Ends::Succeeded).unwrap();
    assert!(block_on(&mut handle).is_ok());
    assert!(matches!(handle.wait_timeout(Duration::MAX), Some(Err(TaskError::AlreadyTaken))));
    assert_eq!(handle.status(), TaskStatus::Ended(Outcome::Succeeded));
    assert!(matches!(handle.wait(), Err(TaskError::AlreadyTaken)));
    outputs.assert_all_gone();
}
