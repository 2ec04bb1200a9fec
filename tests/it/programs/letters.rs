//! An operator's tool: what failed is listed, looked at, repaired and replayed.

use super::PATIENCE;
use crate::support::Watchdog;
use dockhand::letter::{DeadLetterReason, LetterFate};
use dockhand::{BoxError, Lane, ProcessorFn, RejectReason, TaskId, WorkerPool, processor_fn};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};

/// An order is paid if the bank is up and the amount is not zero.
struct Order {
    number: u32,
    cents: u64,
}

type Shop = WorkerPool<ProcessorFn<Order, (), String>>;

fn shop(bank_is_up: Arc<AtomicBool>) -> Result<Shop, BoxError> {
    let pay = processor_fn(move |order: &mut Order, _cx| match order.cents {
        _ if !bank_is_up.load(Ordering::Relaxed) => Err("the bank is down".to_string()),
        0 => Err(format!("order {} has no price", order.number)),
        _ => Ok(()),
    });
    Ok(WorkerPool::builder(pay).workers(2).lane(Lane::new("orders")).build()?)
}

fn submit_three(shop: &Shop) -> Result<Vec<TaskId>, BoxError> {
    let orders = shop.submitter_for("orders")?;
    let mut ids = Vec::new();
    for (number, cents) in [(1, 250), (2, 0), (3, 999)] {
        ids.push(orders.submit(Order { number, cents }).into_result()?);
    }
    shop.wait_idle(PATIENCE)?;
    Ok(ids)
}

#[test]
fn letters_are_listed_repaired_and_replayed() -> Result<(), BoxError> {
    let _watchdog = Watchdog::new();
    let bank_is_up = Arc::new(AtomicBool::new(false));
    let shop = shop(bank_is_up.clone())?;
    let ids = submit_three(&shop)?;
    let letters = shop.dead_letters();

    let list = letters.list();
    assert_eq!(list.len(), 3);
    for info in &list {
        assert!(ids.contains(&info.task.id));
        assert_eq!((&*info.task.lane, info.task.attempt), ("orders", 1));
        assert_eq!((&*info.error, info.reason), ("the bank is down", DeadLetterReason::RetriesExhausted));
    }

    bank_is_up.store(true, Ordering::Relaxed);
    assert_eq!(letters.requeue_all(), 3);
    shop.wait_idle(PATIENCE)?;
    let list = letters.list();
    assert_eq!(list.len(), 1);
    assert_eq!(&*list[0].error, "order 2 has no price");
    let again = list[0].task.id;
    assert!(!ids.contains(&again), "a replay is a new task");

    let mut letter = letters.take(again).ok_or("it was listed")?;
    letter.payload.cents = 100;
    letters.put_back(letter);
    let repaired = letters.requeue(again)?;
    assert_ne!(repaired, again);
    assert_eq!(letters.requeue(again), Err(RejectReason::UnknownLetter));
    let report = shop.shutdown(PATIENCE);
    assert!(report.is_clean() && letters.is_empty());
    assert_eq!((report.counts.succeeded, report.counts.dead_lettered), (3, 4));
    Ok(())
}

#[test]
fn a_letter_that_does_not_fit_stays_and_outlives_the_shutdown() -> Result<(), BoxError> {
    let _watchdog = Watchdog::new();
    let barrier = Arc::new(Barrier::new(2));
    let at_barrier = barrier.clone();
    let pool = WorkerPool::builder(processor_fn(move |job: &mut &str, _cx| match *job {
        "bad" => Err("bad".to_string()),
        "slow" => {
            at_barrier.wait();
            at_barrier.wait();
            Ok(())
        }
        _ => Ok(()),
    }))
    .workers(1)
    .queue_capacity(1)
    .build()?;
    let id = pool.submit("bad").into_result()?;
    pool.wait_idle(PATIENCE)?;
    pool.submit("slow").into_result()?;
    barrier.wait();
    pool.submit("filler").into_result()?;

    let letters = pool.dead_letters();
    assert_eq!(letters.requeue(id), Err(RejectReason::QueueFull));
    assert_eq!(letters.len(), 1);
    barrier.wait();
    assert!(pool.shutdown(PATIENCE).is_clean());
    assert_eq!(letters.requeue(id), Err(RejectReason::Closed));
    assert_eq!(letters.take(id).map(|letter| letter.payload), Some("bad"));
    Ok(())
}

#[test]
fn a_sink_takes_the_payload_out_and_spares_the_store() -> Result<(), BoxError> {
    let _watchdog = Watchdog::new();
    let (spill, spilled) = channel();
    let parse = processor_fn(|line: &mut String, _cx| line.parse::<f64>());
    let pool = WorkerPool::builder(parse)
        .workers(1)
        .dead_letter_sink(move |letter| {
            let line = std::mem::take(&mut letter.payload);
            let _ = spill.send(format!("{line}: {}", letter.failure));
            LetterFate::Discard
        })
        .build()?;
    for line in ["2.5", "two"] {
        pool.submit(line.to_string()).into_result()?;
    }
    assert!(pool.shutdown(PATIENCE).is_clean());
    assert_eq!(spilled.try_recv()?, "two: invalid float literal");
    assert!(pool.dead_letters().is_empty());
    Ok(())
}
