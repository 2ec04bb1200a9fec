//! A tokio program that hands blocking work to a pool and awaits the answers: a handle is a future, and needs nothing of
//! the runtime. What is still running when a client leaves is cancelled by the drop of its handle.

use dockhand::{OverloadPolicy, TaskError, TaskHandle, WorkerPool, processor_fn};
use std::error::Error;
use std::io::Write;
use std::time::Duration;

/// How many handles are awaited at once.
const TASKS: u64 = 10_000;

/// Counts the primes below `limit`; stops when it is asked to.
#[derive(Debug)]
struct Count {
    limit: u64,
}

type Counts = dockhand::ProcessorFn<Count, u64, String>;

fn is_prime(n: u64) -> bool {
    n > 1 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

fn pool() -> Result<WorkerPool<Counts>, dockhand::BuildError> {
    let count = processor_fn(|count: &mut Count, cx: &dockhand::TaskContext<'_, Count>| {
        if count.limit.is_multiple_of(1000) {
            return Err(format!("{} is no limit", count.limit));
        }
        let mut primes = 0;
        for n in 0..count.limit {
            cx.checkpoint()?;
            primes += u64::from(is_prime(n));
        }
        Ok(primes)
    });
    // A submit on the runtime's thread must not run the work there, so a full lane refuses.
    WorkerPool::builder(count)
        .workers(2)
        .queue_capacity(TASKS as usize)
        .overload(OverloadPolicy::Reject)
        .dead_letter_sink(|_| dockhand::letter::LetterFate::Discard)
        .build()
}

/// What came of all tasks: how many answers and how many failures.
async fn await_all(handles: Vec<TaskHandle<Counts>>) -> Result<(u64, u64), Box<dyn Error + Send + Sync>> {
    let mut tasks = Vec::new();
    for (n, handle) in (1..).zip(handles) {
        tasks.push((n, tokio::spawn(handle)));
    }
    let (mut answers, mut failures) = (0, 0);
    for (n, task) in tasks {
        match task.await? {
            Ok(primes) => {
                assert_eq!(primes, (0..limit(n)).filter(|n| is_prime(*n)).count() as u64);
                answers += 1;
            }
            Err(TaskError::Failed(failure)) => {
                assert_eq!(failure.to_string(), format!("{} is no limit", limit(n)));
                failures += 1;
            }
            Err(other) => return Err(other.into()),
        }
    }
    Ok((answers, failures))
}

/// Each 10th task fails.
fn limit(n: u64) -> u64 {
    if n.is_multiple_of(10) { 1000 } else { n % 100 }
}

/// Runs it all; says how many answers and failures there were.
async fn run() -> Result<(u64, u64), Box<dyn Error + Send + Sync>> {
    let pool = pool()?;
    let submitter = pool.submitter();
    let handles = (1..=TASKS).map(|n| submitter.submit_tracked(Count { limit: limit(n) }));
    let done = await_all(handles.collect::<Result<_, _>>()?).await?;

    // One that takes for ever, for a client that waits a moment and leaves.
    let endless = submitter.submit_tracked(Count { limit: u64::MAX })?.cancel_on_drop();
    let answer = tokio::time::timeout(Duration::from_millis(20), endless).await;
    assert!(answer.is_err(), "it takes for ever");

    // One that is cancelled while somebody awaits it.
    let mut endless = submitter.submit_tracked(Count { limit: u64::MAX })?;
    let answer = tokio::select! {
        answer = &mut endless => answer,
        () = tokio::time::sleep(Duration::from_millis(20)) => {
            let _asked = endless.cancel();
            endless.await
        }
    };
    assert!(matches!(answer, Err(TaskError::Cancelled)));

    // The end of a pool may block, so it gets a thread where that hurts nobody.
    let report = tokio::task::spawn_blocking(move || pool.shutdown(Duration::from_secs(10))).await?;
    assert!(report.is_clean() && report.counts.is_conserved(), "{report:?}");
    assert_eq!((report.counts.cancelled, report.counts.succeeded), (2, done.0));
    Ok(done)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let (answers, failures) = run().await?;
    assert_eq!((answers, failures), (9_000, 1_000));
    writeln!(std::io::stdout(), "{answers} answers and {failures} failures of {TASKS} tasks")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(answer: Result<(u64, u64), Box<dyn Error + Send + Sync>>) {
        assert_eq!(answer.map_err(|error| error.to_string()), Ok((9_000, 1_000)));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn ten_thousand_handles_on_a_runtime_of_two_threads() {
        check(run().await);
    }

    #[tokio::test]
    async fn ten_thousand_handles_on_one_thread() {
        check(run().await);
    }

    /// A task of one pool, awaited and cancelled from many tokio tasks, and a runtime that ends before the pool does.
    #[test]
    fn a_runtime_may_end_before_its_handles_resolve() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build();
        let runtime = runtime.expect("threads can be started");
        let pool = pool().expect("it is built");
        for _ in 0..100 {
            let handle = pool.submitter().submit_tracked(Count { limit: u64::MAX }).expect("there is room");
            runtime.spawn(handle.cancel_on_drop());
        }
        // Drops what is still awaited, with wakers that the pool holds.
        drop(runtime);
        let report = pool.shutdown(Duration::from_secs(10));
        assert!(report.is_clean() && report.counts.cancelled == 100, "{report:?}");
    }
}
