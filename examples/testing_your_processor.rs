//! A retry policy of hours, tested in a millisecond. On a `ManualPool` nothing runs by itself and the clock stands still
//! until it is moved. Run it with `cargo run --example testing_your_processor`; the functions would be `#[test]`s.
#![allow(clippy::print_stdout, reason = "an example shows something")]

use dockhand::letter::DeadLetterReason;
use dockhand::{BoxError, Cause, ManualPool, Processor, RetryDecision, RetryPolicy, TaskContext, WorkerPool};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const HOUR: Duration = Duration::from_secs(3600);

/// What is tested: sends invoices to a partner whose system is down now and then, for hours.
struct Invoices<S>(S);

/// The partner, so that a test can have one of its own.
trait Partner: Send + Sync + 'static {
    fn send(&self, invoice: &str) -> Result<(), u16>;
}

impl<S: Partner> Processor for Invoices<S> {
    type Payload = String;
    type Output = ();
    type Error = u16;

    fn process(&self, invoice: &mut String, _cx: &TaskContext<'_, String>) -> Result<(), u16> {
        self.0.send(invoice)
    }
}

fn policy() -> RetryPolicy {
    RetryPolicy::schedule([HOUR, 6 * HOUR, 24 * HOUR])
}

/// A status of 500 or more may pass; anything else is our mistake.
fn classify(cause: Cause<'_, u16>) -> RetryDecision {
    match cause {
        Cause::Error(500..) => RetryDecision::Retry,
        _ => RetryDecision::GiveUp,
    }
}

/// A partner that is down for so many requests.
struct DownFor(AtomicU32);

impl Partner for DownFor {
    fn send(&self, invoice: &str) -> Result<(), u16> {
        if invoice.is_empty() {
            return Err(422);
        }
        let is_down = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if is_down.is_ok() { Err(503) } else { Ok(()) }
    }
}

fn pool(down_for: u32) -> Result<ManualPool<Invoices<DownFor>>, BoxError> {
    let partner = DownFor(AtomicU32::new(down_for));
    let builder = WorkerPool::builder(Invoices(partner)).retry(policy()).classify(classify);
    Ok(builder.build_manual()?)
}

fn an_invoice_arrives_after_the_second_outage() -> Result<(), BoxError> {
    let pool = pool(2)?;
    let began = pool.now();
    let invoice = pool.submitter().submit_tracked("no. 17".to_string())?;
    invoice.wait()?; // waiting is running: the clock goes from one retry to the next
    assert_eq!(pool.now() - began, 7 * HOUR);
    Ok(())
}

fn it_is_given_up_after_31_hours() -> Result<(), BoxError> {
    let pool = pool(u32::MAX)?;
    pool.submit("no. 18".to_string()).into_result()?;
    let mut waits = Vec::new();
    assert_eq!(pool.run_until_idle(), 1);
    while let Some(wait) = pool.advance_to_next_due() {
        assert_eq!(pool.run_until_idle(), 1);
        waits.push(wait);
    }
    assert_eq!(waits, [HOUR, 6 * HOUR, 24 * HOUR]);
    assert_eq!(pool.dead_letters().list()[0].reason, DeadLetterReason::RetriesExhausted);
    Ok(())
}

fn no_retry_comes_early() -> Result<(), BoxError> {
    let pool = pool(1)?;
    pool.submit("no. 19".to_string()).into_result()?;
    assert!(pool.run_one());
    pool.advance(HOUR - Duration::from_nanos(1));
    assert!(!pool.run_one());
    pool.advance(Duration::from_nanos(1));
    assert!(pool.run_one());
    assert_eq!(pool.metrics().counts.succeeded, 1);
    Ok(())
}

fn our_own_mistakes_are_not_sent_again() -> Result<(), BoxError> {
    let pool = pool(0)?;
    pool.submit(String::new()).into_result()?;
    assert_eq!(pool.run_until_idle(), 1);
    assert_eq!(pool.advance_to_next_due(), None);
    assert_eq!(pool.dead_letters().list()[0].reason, DeadLetterReason::NotRetryable);
    Ok(())
}

fn main() -> Result<(), BoxError> {
    let began = Instant::now();
    an_invoice_arrives_after_the_second_outage()?;
    it_is_given_up_after_31_hours()?;
    no_retry_comes_early()?;
    our_own_mistakes_are_not_sent_again()?;
    println!("39 hours of retries, tested in {:?}", began.elapsed());
    Ok(())
}
