//! A bounded, in-memory worker pool for programs with a latency budget.

#![forbid(unsafe_code)]

// The flow, in the order in which a task meets it.
mod attempt;
mod batch;
mod context;
mod dead_letter;
mod failure;
mod lane;
mod letters;
mod processor;
mod submitter;
mod task;
mod worker;

// The pool.
mod builder;
mod config;
mod error;
pub mod metrics;
mod pool;
mod retry;
mod shutdown;
mod snapshot;
mod start;

// Machinery that knows no user.
mod clock;
mod delay;
mod drain;
mod gate;
mod idle;
mod inside;
mod room;
mod shared;
mod sleep;
mod sync;
mod tally;
mod timer;
mod user;
mod word;

pub use builder::PoolBuilder;
pub use config::{IdleStrategy, Lane, OverloadPolicy};
pub use context::TaskContext;
pub use dead_letter::DeadLetter;
pub use error::{
    BatchResult, BoxError, BuildError, CallerRun, Interrupted, RejectReason, Rejection, SubmitResult,
    WaitError,
};
pub use failure::{Cause, Failure, RetryDecision};
pub use pool::WorkerPool;
pub use processor::{Closure, Closures, Processor, ProcessorFn, processor_fn};
pub use retry::RetryPolicy;
pub use shutdown::ShutdownReport;
pub use submitter::TaskSubmitter;
pub use task::{Outcome, Shed, TaskId, TaskInfo, TaskStatus};

/// Dead letters: the store and what is known of each.
pub mod letter {
    pub use crate::dead_letter::{LetterFate, LetterInfo};
    pub use crate::failure::DeadLetterReason;
    pub use crate::letters::DeadLetters;
}
