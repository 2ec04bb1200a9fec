//! A plain thread pool: closures, with answers through a channel.

use super::PATIENCE;
use crate::support::Watchdog;
use dockhand::{BoxError, Cause, Closure, Closures, RejectReason, WorkerPool};
use std::sync::mpsc::channel;
use std::thread;

#[test]
fn closures_answer_through_a_channel() -> Result<(), BoxError> {
    let _watchdog = Watchdog::new();
    let pool = WorkerPool::builder(Closures).workers(2).build()?;
    let (answer, answers) = channel();
    for n in 0..10_u64 {
        let answer = answer.clone();
        pool.execute(move || answer.send(n * n).unwrap()).into_result()?;
    }
    drop(answer);
    // Ends when the last closure has dropped its sender.
    assert_eq!(answers.iter().sum::<u64>(), 285);
    assert!(pool.shutdown(PATIENCE).is_clean());
    Ok(())
}

#[test]
fn a_refused_closure_is_run_here() -> Result<(), BoxError> {
    let _watchdog = Watchdog::new();
    let pool = WorkerPool::builder(Closures).workers(1).build()?;
    let submitter = pool.submitter();
    drop(pool);

    let (answer, answers) = channel();
    let refused = submitter.execute(move || answer.send(thread::current().id()).unwrap());
    let refused = refused.into_result().unwrap_err();
    assert_eq!(refused.reason(), RejectReason::Closed);
    assert!(answers.try_recv().is_err());
    refused.into_payload().run();
    assert_eq!(answers.recv()?, thread::current().id());
    Ok(())
}

#[test]
fn a_closure_that_panics_is_a_letter_and_its_worker_goes_on() -> Result<(), BoxError> {
    let _watchdog = Watchdog::new();
    let pool = WorkerPool::builder(Closures).workers(1).build()?;
    pool.execute(|| panic!("out of {}", "paper")).into_result()?;
    let (answer, answers) = channel();
    pool.submit(Closure::new(move || answer.send(()).unwrap())).into_result()?;
    answers.recv_timeout(PATIENCE)?;
    assert!(pool.shutdown(PATIENCE).is_clean());

    let letters = pool.dead_letters().drain();
    let [letter] = &letters[..] else { panic!("{letters:?}") };
    assert!(matches!(letter.failure.cause(), Cause::Panicked("out of paper")));
    Ok(())
}
