//! A client of a web service with an error type of its own, which says what is worth a retry and when.

use super::PATIENCE;
use crate::support::Watchdog;
use dockhand::letter::DeadLetterReason;
use dockhand::{BoxError, Cause, Processor, RetryDecision, RetryPolicy, TaskContext, WorkerPool};
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

#[derive(Debug)]
enum HttpError {
    Throttled { retry_after: Duration },
    Status(u16),
    Io(io::Error),
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HttpError::Throttled { retry_after } => write!(f, "throttled for {retry_after:?}"),
            HttpError::Status(code) => write!(f, "status {code}"),
            HttpError::Io(error) => write!(f, "connection: {error}"),
        }
    }
}

impl std::error::Error for HttpError {}

impl From<io::Error> for HttpError {
    fn from(error: io::Error) -> Self {
        HttpError::Io(error)
    }
}

impl HttpError {
    fn classify(cause: Cause<'_, HttpError>) -> RetryDecision {
        match cause {
            Cause::Error(HttpError::Throttled { retry_after }) => RetryDecision::RetryAfter(*retry_after),
            Cause::Error(HttpError::Status(500..=599) | HttpError::Io(_)) => RetryDecision::Retry,
            // Another status, a panic, and what later versions may add.
            _ => RetryDecision::GiveUp,
        }
    }
}

const THROTTLE: Duration = Duration::from_millis(40);

/// A client without a network; it notes when each path was asked for.
#[derive(Clone, Default)]
struct Client {
    asked: Arc<Mutex<HashMap<&'static str, Vec<Instant>>>>,
}

impl Processor for Client {
    type Payload = &'static str;
    type Output = Vec<u8>;
    type Error = HttpError;

    fn process(
        &self,
        path: &mut &'static str,
        cx: &TaskContext<'_, &'static str>,
    ) -> Result<Vec<u8>, HttpError> {
        self.asked.lock().unwrap().entry(path).or_default().push(Instant::now());
        match (*path, cx.attempt()) {
            ("/throttled", 1) => Err(HttpError::Throttled { retry_after: THROTTLE }),
            ("/reset", 1 | 2) => Err(io::Error::from(io::ErrorKind::ConnectionReset))?,
            ("/broken", _) => Err(HttpError::Status(503)),
            ("/missing", _) => Err(HttpError::Status(404)),
            ("/poison", _) => panic!("a bug in the parser"),
            _ => Ok(b"hello".to_vec()),
        }
    }
}

#[test]
fn a_typed_error_says_what_is_worth_a_retry_and_when() -> Result<(), BoxError> {
    let _watchdog = Watchdog::new();
    let client = Client::default();
    let pool = WorkerPool::builder(client.clone())
        .workers(2)
        .retry(RetryPolicy::exponential(Duration::from_millis(1)).max_retries(2).jitter(0.5))
        .classify(HttpError::classify)
        .build()?;
    let paths = ["/", "/throttled", "/reset", "/broken", "/missing", "/poison"];
    for path in paths {
        pool.submit(path).into_result()?;
    }
    pool.wait_idle(PATIENCE)?;

    let asked = client.asked.lock().unwrap();
    let times = paths.map(|path| asked[path].len());
    assert_eq!(times, [1, 2, 3, 3, 1, 1]);
    assert!(asked["/throttled"][1] - asked["/throttled"][0] >= THROTTLE, "asked again too early");

    let counts = pool.metrics().counts;
    assert_eq!((counts.succeeded, counts.dead_lettered, counts.panics), (3, 3, 1));
    let letters = pool.dead_letters().drain();
    let reason_of = |path| letters.iter().find(|letter| letter.payload == path).map(|l| l.info.reason);
    assert_eq!(reason_of("/broken"), Some(DeadLetterReason::RetriesExhausted));
    assert_eq!(reason_of("/missing"), Some(DeadLetterReason::NotRetryable));
    assert_eq!(reason_of("/poison"), Some(DeadLetterReason::NotRetryable));
    // The error itself is kept, not its text alone.
    let statuses = letters.iter().filter_map(|letter| match letter.failure.cause() {
        Cause::Error(HttpError::Status(code)) => Some(*code),
        _ => None,
    });
    assert_eq!(statuses.sum::<u16>(), 503 + 404);
    Ok(())
}
