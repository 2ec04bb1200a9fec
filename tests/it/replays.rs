//! Whatever puts a task back keeps what the task was.

use crate::limits::Notes;
use crate::support::{Job, Runs, Watchdog, accepted, assert_rest, builder, ms};
use dockhand::letter::LetterFate;
use dockhand::{
    Event, Lane, ManualPool, Outcome, OverloadPolicy, PoolBuilder, RejectReason, RetryPolicy, TaskId,
    TaskInfo, TaskOptions, Timing,
};
use std::time::Duration;

fn key() -> TaskOptions {
    TaskOptions::new().key("k")
}

fn ttl(ttl: Duration) -> TaskOptions {
    TaskOptions::new().ttl(ttl)
}

fn manual(builder: PoolBuilder<Runs>) -> ManualPool<Runs> {
    builder.build_manual().unwrap()
}

fn offer(pool: &ManualPool<Runs>, job: Job, options: TaskOptions) -> Result<TaskId, RejectReason> {
    pool.submitter().submit_with(job, options).into_result().map_err(|refused| refused.reason())
}

/// Submits a job that fails once, and then runs as often as it is asked; it is a letter now.
fn letter(pool: &ManualPool<Runs>, options: TaskOptions) -> TaskId {
    let mut runs = 0;
    let job = Job::new(move |_| {
        runs += 1;
        if runs == 1 { Err("once".into()) } else { Ok(()) }
    });
    let id = offer(pool, job, options).unwrap();
    pool.wait_idle(Duration::MAX).unwrap();
    assert_eq!(pool.dead_letters().list().pop().unwrap().task.id, id);
    id
}

fn listed(pool: &ManualPool<Runs>) -> Vec<TaskId> {
    pool.dead_letters().list().into_iter().map(|info| info.task.id).collect()
}

#[test]
fn a_replayed_letter_takes_its_key_again() {
    let _dog = Watchdog::new();
    let pool = manual(builder(1));
    for all in [false, true] {
        let id = letter(&pool, key());
        let new = if all { None } else { Some(pool.dead_letters().requeue(id).unwrap()) };
        if all {
            assert_eq!(pool.dead_letters().requeue_all(), 1);
        }
        let refused = offer(&pool, Job::ok(), key()).unwrap_err();
        assert!(matches!(refused, RejectReason::Duplicate(other) if new.is_none_or(|new| new == other)));
        assert_eq!(pool.run_until_idle(), 1);
        offer(&pool, Job::ok(), key()).unwrap();
        assert_eq!(pool.run_until_idle(), 1, "it is free again at the end");
    }
    assert_rest(&pool);
}

#[test]
fn a_letter_whose_key_is_taken_stays_in_its_place() {
    let _dog = Watchdog::new();
    let pool = manual(builder(1));
    let ids = [TaskOptions::new(), key(), TaskOptions::new()].map(|options| letter(&pool, options));
    let other = offer(&pool, Job::ok(), key()).unwrap();
    assert_eq!(pool.dead_letters().requeue(ids[1]), Err(RejectReason::Duplicate(other)));
    assert_eq!(listed(&pool), ids);
    assert_eq!(pool.dead_letters().requeue_all(), 2, "the others go on");
    assert_eq!(listed(&pool), [ids[1]]);
    pool.run_until_idle();
    pool.dead_letters().requeue(ids[1]).unwrap();
    // Two letters with one key: one at a time.
    pool.run_until_idle();
    letter(&pool, key());
    letter(&pool, key());
    assert_eq!(pool.dead_letters().requeue_all(), 1);
    pool.run_until_idle();
    assert_eq!(pool.dead_letters().requeue_all(), 1);
    pool.run_until_idle();
    assert_eq!((pool.dead_letters().len(), pool.metrics().counts.rejected), (0, 3));
    assert_rest(&pool);
}

/// However the task was submitted, and whether it is timed or not.
#[test]
fn a_replay_starts_the_ttl_anew() {
    let _dog = Watchdog::new();
    for timing in [Timing::Full, Timing::Sampled(16), Timing::Off] {
        let lane = Lane::new("default").ttl(ms(7000));
        let pool = manual(builder(1).timing(timing).lane(lane));
        let ways = [
            (ttl(ms(100)), Some(ms(100))),
            (ttl(ms(100)).delay(ms(50)), Some(ms(100))),
            (ttl(ms(100)).key("k"), Some(ms(100))),
            (TaskOptions::new(), Some(ms(7000))),
            (key(), Some(ms(7000))),
            // Explicitly none.
            (ttl(Duration::MAX), None),
            (ttl(Duration::MAX).key("k"), None),
        ];
        for (options, time) in ways {
            for is_late in [false, true] {
                let id = letter(&pool, options.clone());
                pool.advance(ms(10_000));
                let before = pool.metrics().counts;
                pool.dead_letters().requeue(id).unwrap();
                let time = time.unwrap_or(Duration::from_secs(1_000_000));
                pool.advance(if is_late { time } else { time - Duration::from_nanos(1) });
                pool.run_until_idle();
                let after = pool.metrics().counts;
                let is_expired =
                    is_late && options != ttl(Duration::MAX) && options != ttl(Duration::MAX).key("k");
                let ended = (after.expired - before.expired, after.succeeded - before.succeeded);
                assert_eq!(ended, if is_expired { (1, 0) } else { (0, 1) }, "{timing:?} {options:?}");
            }
        }
        assert_rest(&pool);
        // That a ttl is remembered does not make its task one that is timed.
        let counted = pool.metrics().lanes[0].run.count();
        let counts = pool.metrics().counts;
        match timing {
            Timing::Full => assert_eq!(counted, counts.attempts),
            Timing::Off => assert_eq!(counted, 0),
            _ => assert!(counted < counts.attempts),
        }
        letter(&pool, ttl(ms(100)));
        let age = pool.dead_letters().list()[0].age;
        assert!(age.is_none() || timing != Timing::Off);
        assert!(age.is_some() || timing != Timing::Full);
    }
}

/// A deadline is a time, not a span: a letter that has missed it needs another.
#[test]
fn a_replay_keeps_a_deadline_and_refuses_one_that_has_passed() {
    let _dog = Watchdog::new();
    let pool = manual(builder(1));
    for span in [None, Some(ms(900))] {
        let at = pool.now() + ms(500);
        let both = TaskOptions::new().deadline(at);
        let both = span.map_or(both.clone(), |span| both.ttl(span));
        let id = letter(&pool, both.clone());
        pool.dead_letters().requeue(id).unwrap();
        pool.advance(at - pool.now() - ms(100));
        assert_eq!(pool.run_until_idle(), 1);
        let id = letter(&pool, both.clone());
        pool.advance(ms(100));
        assert_eq!(pool.dead_letters().requeue(id), Err(RejectReason::Expired));
        assert_eq!((pool.dead_letters().requeue_all(), listed(&pool)), (0, vec![id]));
        assert_eq!(pool.dead_letters().list()[0].options, both);
        pool.dead_letters().requeue_with(id, TaskOptions::new()).unwrap();
        assert_eq!(pool.run_until_idle(), 1);
    }
    assert_rest(&pool);
}

#[test]
fn a_replay_takes_other_options_in_place_of_its_own() {
    let _dog = Watchdog::new();
    let pool = manual(builder(1).lane(Lane::new("default").delay_capacity(1)));
    let id = letter(&pool, key().ttl(ms(100)));
    let own = pool.dead_letters().list()[0].options.clone();
    assert_eq!(own, key().ttl(ms(100)));
    // Later, under another key, with more time.
    let other = TaskOptions::new().key("other").delay(ms(400)).ttl(ms(500));
    let new = pool.dead_letters().requeue_with(id, other.clone()).unwrap();
    assert_eq!(offer(&pool, Job::ok(), other.clone()), Err(RejectReason::Duplicate(new)));
    offer(&pool, Job::ok(), key()).unwrap();
    assert_eq!(pool.run_until_idle(), 1);
    // The delay queue is full.
    let id = letter(&pool, key());
    let again = own.clone().delay(ms(1));
    assert_eq!(pool.dead_letters().len(), 1);
    assert_eq!(pool.metrics().counts.delayed, 0, "waiting for the letter has run the other");
    offer(&pool, Job::ok(), TaskOptions::new().delay(ms(1))).unwrap();
    let refused = pool.dead_letters().requeue_with(id, again.ttl(ms(50)));
    assert_eq!((refused, listed(&pool)), (Err(RejectReason::DelayFull), vec![id]));
    assert_eq!(pool.dead_letters().list()[0].options, key(), "what was refused has changed nothing");
    offer(&pool, Job::ok(), key()).unwrap();
    pool.wait_idle(Duration::MAX).unwrap();
    assert_eq!(pool.dead_letters().requeue_with(other_id(&pool), key()), Err(RejectReason::UnknownLetter));
    assert_rest(&pool);
}

/// The id of a task that is no letter.
fn other_id(pool: &ManualPool<Runs>) -> TaskId {
    let id = accepted(pool, Job::ok());
    pool.run_until_idle();
    id
}

/// In letters, in events, in the status and in what is handed back; and a sink can bound the replays.
#[test]
fn a_task_says_how_often_it_was_replayed_and_where_it_began() {
    let _dog = Watchdog::new();
    let told = Notes::new();
    let listener = told.clone();
    let pool = manual(
        builder(1)
            .retry(RetryPolicy::fixed(ms(10)).max_retries(1))
            .dead_letter_sink(|letter| {
                if letter.info.task.replays < 3 { LetterFate::Keep } else { LetterFate::Discard }
            })
            .on_event(move |event| match event {
                Event::Accepted { task }
                | Event::Started { task }
                | Event::AttemptFailed { task, .. }
                | Event::RetryScheduled { task, .. }
                | Event::Ended { task, .. } => listener.add((*task).clone()),
                _ => {}
            }),
    );
    let first = accepted(&pool, Job::fail());
    let mut id = first;
    for replays in 0..=3 {
        pool.wait_idle(Duration::MAX).unwrap();
        let heard: Vec<TaskInfo> = told.all().into_iter().filter(|task| task.id == id).collect();
        assert_eq!(heard.len(), 7, "accepted, twice started and failed, once scheduled, ended");
        assert!(heard.iter().all(|task| (task.replays, task.origin) == (replays, first)), "{heard:?}");
        let list = pool.dead_letters().list();
        if replays == 3 {
            assert!(list.is_empty(), "the sink has had enough");
            break;
        }
        assert_eq!((list[0].task.replays, list[0].task.origin, list[0].task.attempt), (replays, first, 2));
        // A letter that is taken out and put back is the same letter.
        let letter = pool.dead_letters().take(id).unwrap();
        pool.dead_letters().put_back(letter);
        if replays == 1 {
            assert_eq!(pool.dead_letters().requeue_all(), 1);
            id = told.all().last().unwrap().id;
        } else {
            id = pool.dead_letters().requeue(id).unwrap();
        }
    }
    assert_rest(&pool);
}

#[test]
fn a_letter_that_is_put_back_keeps_what_its_task_was_in_another_pool_too() {
    let _dog = Watchdog::new();
    let (one, two) = (manual(builder(1)), manual(builder(1)));
    let first = letter(&one, key().ttl(ms(100)));
    let taken = one.dead_letters().take(first).unwrap();
    two.dead_letters().put_back(taken);
    two.advance(ms(300));
    let new = two.dead_letters().requeue(first).unwrap();
    assert_eq!(offer(&two, Job::ok(), key()), Err(RejectReason::Duplicate(new)));
    let report = two.shutdown(Duration::ZERO);
    let shed = &report.abandoned[0];
    assert_eq!((shed.task.id, shed.task.replays, shed.task.origin), (new, 1, first));
    assert_eq!(shed.options, key().ttl(ms(100)));
    assert_rest(&two);
}

/// What a retry waits with is what the task had.
#[test]
fn a_retry_keeps_what_its_task_was() {
    let _dog = Watchdog::new();
    let pool = manual(builder(1).retry(RetryPolicy::schedule([ms(10)])));
    let first = offer(&pool, Job::fail(), key().ttl(ms(25))).unwrap();
    pool.wait_idle(Duration::MAX).unwrap();
    let new = pool.dead_letters().requeue(first).unwrap();
    assert_eq!(pool.run_until_idle(), 1);
    assert_eq!(offer(&pool, Job::ok(), key()), Err(RejectReason::Duplicate(new)), "while it waits");
    let report = pool.shutdown(Duration::ZERO);
    let shed = &report.abandoned[0];
    assert_eq!((shed.task.attempt, shed.task.replays, shed.task.origin), (1, 1, first));
    assert_eq!((&shed.options, shed.task.key.as_deref()), (&key().ttl(ms(25)), Some("k")));
}

/// From every place out of which a payload is handed back.
#[test]
fn what_is_handed_back_says_what_it_was_submitted_with() {
    let _dog = Watchdog::new();
    let sheds = Notes::new();
    let shed = sheds.clone();
    let lane = Lane::new("default").queue_capacity(1).overload(OverloadPolicy::DropOldest);
    let pool = manual(builder(1).lane(lane).dead_letter_capacity(0).on_shed(move |given| {
        shed.add((given.outcome, given.options));
    }));
    let at = pool.now() + ms(1_000_000);
    let ways = [
        TaskOptions::new(),
        key(),
        ttl(ms(100)),
        key().ttl(ms(100)),
        TaskOptions::new().deadline(at),
        ttl(ms(100)).deadline(at),
    ];
    let mut expected = Vec::new();
    for options in &ways {
        // Displaced.
        offer(&pool, Job::ok(), options.clone()).unwrap();
        accepted(&pool, Job::ok());
        pool.run_until_idle();
        // A letter for which there is no room.
        offer(&pool, Job::fail(), options.clone()).unwrap();
        pool.run_until_idle();
        expected.extend([(Outcome::Evicted, options.clone()), (Outcome::DeadLettered, options.clone())]);
        if options.clone() == ttl(ms(100)) {
            offer(&pool, Job::ok(), options.clone()).unwrap();
            pool.advance(ms(100));
            pool.run_until_idle();
            expected.push((Outcome::Expired, options.clone()));
        }
    }
    assert_eq!(sheds.all(), expected);
    // Delayed, and handed back by the report: a delay is told by where it was.
    for options in ways {
        let pool = manual(builder(1));
        offer(&pool, Job::ok(), options.clone().delay(ms(10))).unwrap();
        let report = pool.shutdown(Duration::ZERO);
        assert_eq!(report.abandoned[0].options, options);
        let abandoned = report.abandoned.into_iter().next().unwrap();
        let next = manual(builder(1));
        offer(&next, abandoned.payload, abandoned.options).unwrap();
        assert_eq!(next.run_until_idle(), 1);
    }
}
