//! The first program: a closure, two workers, a few tasks, an orderly end.

use super::PATIENCE;
use crate::support::Watchdog;
use dockhand::{BoxError, WorkerPool, processor_fn};
use std::sync::{Arc, Mutex};

#[test]
fn the_first_program_gets_its_work_done_and_sees_what_failed() -> Result<(), BoxError> {
    let _watchdog = Watchdog::new();
    let squares = Arc::new(Mutex::new(Vec::new()));
    let found = squares.clone();
    let pool = WorkerPool::builder(processor_fn(move |text: &mut String, _cx| {
        let n: u64 = text.parse()?;
        found.lock().unwrap().push(n * n);
        Ok::<(), BoxError>(())
    }))
    .workers(2)
    .queue_capacity(100)
    .build()?;

    for text in ["7", "twelve", "13"] {
        pool.submit(text.to_string()).into_result()?;
    }
    let report = pool.shutdown(PATIENCE);

    assert!(report.is_clean());
    assert_eq!((report.counts.succeeded, report.counts.dead_lettered), (2, 1));
    let mut squares = squares.lock().unwrap().clone();
    squares.sort_unstable();
    assert_eq!(squares, [49, 169]);
    let letters = pool.dead_letters().drain();
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].payload, "twelve");
    assert_eq!(letters[0].failure.to_string(), "invalid digit found in string");
    Ok(())
}
