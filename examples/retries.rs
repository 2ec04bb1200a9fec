//! Failures, retries and letters. A service that is down for two attempts is retried with growing delays; one that
//! names a time is asked again at that time; what cannot succeed becomes a letter at once, and is replayed once it is
//! repaired. Run it with `cargo run --example retries`.
#![allow(clippy::print_stdout, reason = "an example shows something")]

use dockhand::letter::DeadLetterReason;
use dockhand::{BoxError, Cause, RetryDecision, RetryPolicy, TaskContext, WorkerPool, processor_fn};
use std::fmt;
use std::time::Duration;

#[derive(Debug)]
enum CallError {
    Down,
    Busy { retry_after: Duration },
    NoSuchUser,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Down => f.write_str("the service is down"),
            CallError::Busy { retry_after } => write!(f, "busy for {retry_after:?}"),
            CallError::NoSuchUser => f.write_str("no such user"),
        }
    }
}

/// Stands for a remote call.
fn call(user: &str, attempt: u32) -> Result<(), CallError> {
    match (user, attempt) {
        ("ann", 1 | 2) => Err(CallError::Down),
        ("bob", 1) => Err(CallError::Busy { retry_after: Duration::from_millis(30) }),
        ("nobody", _) => Err(CallError::NoSuchUser),
        _ => Ok(()),
    }
}

/// What is worth a retry, and when.
fn classify(cause: Cause<'_, CallError>) -> RetryDecision {
    match cause {
        Cause::Error(CallError::Down) => RetryDecision::Retry,
        Cause::Error(CallError::Busy { retry_after }) => RetryDecision::RetryAfter(*retry_after),
        _ => RetryDecision::GiveUp,
    }
}

fn main() -> Result<(), BoxError> {
    let notify = |user: &mut String, cx: &TaskContext<'_, String>| {
        let answer = call(user, cx.attempt());
        println!("{user}, attempt {}: {answer:?}", cx.attempt());
        answer
    };
    let pool = WorkerPool::builder(processor_fn(notify))
        .workers(2)
        .retry(RetryPolicy::exponential(Duration::from_millis(10)).max_retries(4).jitter(0.2))
        .classify(classify)
        .build()?;
    for user in ["ann", "bob", "nobody"] {
        pool.submit(user.to_string()).into_result()?;
    }
    pool.wait_idle(Duration::from_secs(10))?;

    let counts = pool.metrics().counts;
    assert_eq!((counts.succeeded, counts.dead_lettered), (2, 1));
    assert_eq!((counts.attempts, counts.retries), (3 + 2 + 1, 2 + 1));

    // The letter has the payload, the typed error and the reason. Repaired, it goes back to its lane as a new task.
    let letters = pool.dead_letters();
    let id = letters.list()[0].task.id;
    let mut letter = letters.take(id).ok_or("it is in the store")?;
    assert_eq!(letter.info.reason, DeadLetterReason::NotRetryable);
    assert!(matches!(letter.failure.cause(), Cause::Error(CallError::NoSuchUser)));
    letter.payload = "somebody".to_string();
    letters.put_back(letter);
    letters.requeue(id)?;

    let report = pool.shutdown(Duration::from_secs(10));
    assert!(report.is_clean());
    assert_eq!(report.counts.succeeded, 3);
    Ok(())
}
