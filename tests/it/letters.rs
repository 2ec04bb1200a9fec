//! Dead letters: kept, listed, taken, put back, requeued, pushed out.

use crate::support::{
    Job, LONG, Ledger, Pool, Watchdog, accepted, assert_rest, build, builder, eventually, ms, plug_worker,
};
use dockhand::letter::{DeadLetterReason, LetterFate};
use dockhand::{Outcome, OverloadPolicy, RejectReason, RetryPolicy, Shed, TaskId, TaskStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// Fails until `mended` says otherwise.
fn until_mended(mended: &Arc<AtomicBool>) -> Job {
    let mended = Arc::clone(mended);
    Job::new(move |_| if mended.load(Ordering::Relaxed) { Ok(()) } else { Err("broken".to_string()) })
}

/// Submits `jobs`, each to become a letter, and says their ids.
fn fail_all(pool: &Pool, jobs: impl IntoIterator<Item = Job>) -> Vec<TaskId> {
    let ids = jobs.into_iter().map(|job| pool.submitter().submit_timeout(job, LONG).into_result().unwrap());
    let ids = ids.collect();
    pool.wait_idle(LONG).unwrap();
    ids
}

fn listed(pool: &Pool) -> Vec<TaskId> {
    pool.dead_letters().list().into_iter().map(|info| info.task.id).collect()
}

#[test]
fn letters_are_listed_oldest_first_with_what_is_known() {
    let _dog = Watchdog::new();
    let pool = build(builder(1).retry(RetryPolicy::fixed(ms(0)).max_retries(2)));
    let before = SystemTime::now();
    let ids = fail_all(&pool, (0..3).map(|n| Job::fail().number(n)));
    let list = pool.dead_letters().list();
    assert_eq!(listed(&pool), ids);
    for info in &list {
        assert_eq!((&*info.task.lane, info.task.attempt, &*info.error), ("default", 3, "attempt 3"));
        assert_eq!(info.reason, DeadLetterReason::RetriesExhausted);
        assert!(info.ended >= before && info.ended <= SystemTime::now());
    }
    let letter = pool.dead_letters().take(ids[1]).unwrap();
    assert_eq!((letter.payload.number, letter.info.task.id), (1, ids[1]));
    assert!(pool.dead_letters().take(ids[1]).is_none());
    assert_eq!(listed(&pool), [ids[0], ids[2]]);
    pool.dead_letters().put_back(letter);
    assert_eq!(listed(&pool), [ids[0], ids[2], ids[1]], "as the newest");
    let numbers: Vec<_> = pool.dead_letters().drain().into_iter().map(|l| l.payload.number).collect();
    assert_eq!(numbers, [0, 2, 1]);
    assert!(pool.dead_letters().is_empty());
    // A letter that was taken has had its outcome all the same.
    assert_rest(&pool);
    assert_eq!(pool.metrics().counts.dead_lettered, 3);
}

#[test]
fn a_requeued_letter_is_a_new_task() {
    let _dog = Watchdog::new();
    let mended = Arc::new(AtomicBool::new(false));
    let pool = build(builder(2).retry(RetryPolicy::fixed(ms(0)).max_retries(1)));
    let ids = fail_all(&pool, (0..5).map(|_| until_mended(&mended)));
    assert_eq!(pool.dead_letters().requeue_all(), 5);
    pool.wait_idle(LONG).unwrap();
    let again = pool.dead_letters().list();
    assert_eq!(again.len(), 5);
    assert!(again.iter().all(|info| info.task.attempt == 2 && !ids.contains(&info.task.id)));
    assert_eq!(pool.dead_letters().requeue(ids[0]), Err(RejectReason::UnknownLetter));
    mended.store(true, Ordering::Relaxed);
    let new = pool.dead_letters().requeue(again[2].task.id).unwrap();
    assert_ne!(new, again[2].task.id);
    assert_eq!(pool.dead_letters().requeue_all(), 4);
    pool.wait_idle(LONG).unwrap();
    let counts = pool.metrics().counts;
    assert_eq!((counts.accepted, counts.succeeded, counts.dead_lettered), (15, 5, 10));
    assert_rest(&pool);
}

/// Under each policy a replay evicts nothing and runs nothing here; what does not fit stays where it was.
#[test]
fn a_letter_that_does_not_fit_stays_in_its_place() {
    let _dog = Watchdog::new();
    for policy in crate::support::POLICIES {
        let pool = build(builder(1).queue_capacity(2).overload(policy));
        let ids = fail_all(&pool, (0..4).map(|_| Job::fail()));
        let plug = plug_worker(&pool);
        accepted(&pool, Job::ok());
        assert_eq!(pool.dead_letters().requeue_all(), 1, "{policy:?}");
        assert_eq!(listed(&pool), ids[1..]);
        assert_eq!(pool.dead_letters().requeue(ids[2]), Err(RejectReason::QueueFull));
        assert_eq!(listed(&pool), ids[1..], "{policy:?}");
        let counts = pool.metrics().counts;
        assert_eq!((counts.evicted, counts.caller_run, counts.dropped, counts.rejected), (0, 0, 0, 2));
        plug.open();
        pool.wait_idle(LONG).unwrap();
        pool.begin_shutdown();
        let kept = listed(&pool);
        assert_eq!(pool.dead_letters().requeue(ids[3]), Err(RejectReason::Closed));
        assert_eq!(pool.dead_letters().requeue_all(), 0);
        assert_eq!(listed(&pool), kept);
        assert!(pool.shutdown(LONG).is_clean());
        assert_rest(&pool);
    }
}

/// A letter that is requeued and fails again finds its own place in a full store: nothing has to leave for it.
#[test]
fn a_letter_that_fails_again_pushes_none_out() {
    let _dog = Watchdog::new();
    let shed = Arc::new(Mutex::new(Vec::new()));
    let sheds = Arc::clone(&shed);
    let pool = build(builder(2).dead_letter_capacity(2).on_shed(move |shed: Shed<Job>| {
        sheds.lock().unwrap().push(shed.payload.number);
    }));
    fail_all(&pool, (0..2).map(|n| Job::fail().number(n)));
    for round in 0..crate::support::rounds(20_000, 20) {
        let id = listed(&pool)[round % 2];
        pool.dead_letters().requeue(id).unwrap();
        pool.wait_idle(LONG).unwrap();
        assert_eq!(pool.dead_letters().len(), 2, "round {round}: {:?} left", shed.lock().unwrap());
    }
    assert_eq!(pool.metrics().letters_evicted, 0);
}

#[test]
fn a_full_store_gives_its_oldest_away() {
    let _dog = Watchdog::new();
    let (give, given) = channel::<Shed<Job>>();
    let pool = build(builder(1).dead_letter_capacity(2).on_shed(move |shed| give.send(shed).unwrap()));
    let ids = fail_all(&pool, (0..5).map(|n| Job::fail().number(n)));
    assert_eq!(listed(&pool), ids[3..]);
    let letter = pool.dead_letters().take(ids[4]).unwrap();
    let newer = fail_all(&pool, [Job::fail().number(5)]);
    pool.dead_letters().put_back(letter);
    assert_eq!(listed(&pool), [newer[0], ids[4]]);
    let gone: Vec<_> = given.try_iter().collect();
    assert_eq!(gone.iter().map(|shed| shed.payload.number).collect::<Vec<_>>(), [0, 1, 2, 3]);
    for (shed, id) in gone.iter().zip(&ids) {
        assert_eq!((shed.task.id, shed.outcome), (*id, Outcome::DeadLettered));
        assert_eq!(shed.was, TaskStatus::Ended(Outcome::DeadLettered));
        assert_eq!(shed.last_error.as_deref(), Some("attempt 1"));
    }
    assert_eq!(pool.metrics().letters_evicted, 4);
    assert_rest(&pool);
}

#[test]
fn a_store_of_nothing_gives_every_letter_away() {
    let _dog = Watchdog::new();
    let ledger = Ledger::new();
    let pool = build(builder(2).dead_letter_capacity(0));
    fail_all(&pool, (0..50).map(|_| Job::fail().track(ledger.track())));
    assert_eq!((pool.dead_letters().len(), pool.metrics().letters_evicted), (0, 50));
    assert_eq!(ledger.alive(), 0);
    assert_rest(&pool);
    ledger.assert_all_gone();
}

#[test]
fn the_sink_may_take_change_and_discard() {
    let _dog = Watchdog::new();
    let (ledger, workers) = (Ledger::new(), Arc::new(Mutex::new(Vec::new())));
    let threads = Arc::clone(&workers);
    let pool = build(builder(1).dead_letter_sink(move |letter| {
        threads.lock().unwrap().push(std::thread::current().name().unwrap_or_default().to_string());
        letter.payload.number += 100;
        if letter.payload.number == 100 { LetterFate::Discard } else { LetterFate::Keep }
    }));
    fail_all(&pool, (0..3).map(|n| Job::fail().number(n).track(ledger.track())));
    assert_eq!(ledger.alive(), 2);
    let numbers: Vec<_> = pool.dead_letters().drain().iter().map(|letter| letter.payload.number).collect();
    assert_eq!(numbers, [101, 102]);
    assert_eq!(*workers.lock().unwrap(), ["dockhand-0"; 3]);
    assert_eq!(pool.metrics().counts.dead_lettered, 3);
    ledger.assert_all_gone();
}

#[test]
fn letters_outlive_the_shutdown_and_go_with_the_pool() {
    let _dog = Watchdog::new();
    let ledger = Ledger::new();
    let pool = build(builder(2).overload(OverloadPolicy::CallerRuns));
    let ids = fail_all(&pool, (0..4).map(|_| Job::fail().track(ledger.track())));
    assert!(pool.shutdown(LONG).is_clean());
    assert_eq!(listed(&pool).len(), 4);
    let letter = pool.dead_letters().take(ids[0]).unwrap();
    assert_eq!(pool.dead_letters().requeue(ids[1]), Err(RejectReason::Closed));
    pool.dead_letters().put_back(letter);
    assert_eq!((pool.dead_letters().len(), ledger.alive()), (4, 4));
    let taken = pool.dead_letters().take(ids[3]).unwrap();
    let submitter = pool.submitter();
    drop(pool);
    assert_eq!(ledger.alive(), 1, "the submitter keeps no letter");
    drop((taken, submitter));
    ledger.assert_all_gone();
}

/// Letters are added, taken, put back, requeued and drained at once; none is lost and none comes twice.
#[test]
fn letters_are_conserved_under_concurrent_use() {
    let _dog = Watchdog::new();
    let ledger = Ledger::new();
    let pool = build(builder(2).dead_letter_capacity(8).queue_capacity(8));
    std::thread::scope(|scope| {
        for seed in 0..3 {
            let (pool, ledger) = (&pool, &ledger);
            scope.spawn(move || {
                let mut rng = crate::support::Rng::new(seed + 100);
                for _ in 0..500 {
                    let letters = pool.dead_letters();
                    let ids = letters.list();
                    let id = ids.get(rng.below(8) as usize).map(|info| info.task.id);
                    match (rng.below(4), id) {
                        (0, _) | (_, None) => drop(pool.submit(Job::fail().track(ledger.track()))),
                        (1, Some(id)) => {
                            letters.take(id).into_iter().for_each(|letter| letters.put_back(letter));
                        }
                        (2, Some(id)) => drop(letters.requeue(id)),
                        (_, Some(_)) => letters.drain().into_iter().take(4).for_each(|l| letters.put_back(l)),
                    }
                }
            });
        }
    });
    pool.wait_idle(LONG).unwrap();
    assert_rest(&pool);
    eventually("only letters are left", || ledger.alive() == pool.dead_letters().len() as u64);
    assert!(pool.dead_letters().len() <= 8);
    drop(pool);
    ledger.assert_all_gone();
}
