//! What an operator looks at: how long something runs, and the names of threads.

use crate::limits::Notes;
use crate::support::{Job, LONG, Watchdog, build, builder, eventually, rounds};
use dockhand::{ManualClock, TaskId, Timing};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// A clock that is moved by hand makes it exact.
#[test]
fn an_attempt_that_is_not_timed_has_run_since_it_was_first_seen_and_no_zero_is_shown() {
    let _dog = Watchdog::new();
    for looks_at_metrics in [false, true] {
        let (clock, shown) = (ManualClock::new(), Notes::new());
        let pool = Arc::new(builder(1).timing(Timing::Off).build_manual_on(&clock).unwrap());
        // The second task has not run since the first was seen.
        for _ in 0..2 {
            let (weak, clock, shown) = (Arc::downgrade(&pool), clock.clone(), shown.clone());
            let job = Job::run(move || {
                let pool = weak.upgrade().unwrap();
                let look = || shown.add(pool.status().workers.remove(0).running_for);
                clock.advance(secs(5));
                match looks_at_metrics {
                    true => drop(pool.metrics()),
                    false => look(),
                }
                look();
                clock.advance(secs(4));
                look();
            });
            pool.submit(job).into_result().unwrap();
            assert_eq!(pool.run_until_idle(), 1);
        }
        let of_each =
            if looks_at_metrics { vec![None, Some(secs(4))] } else { vec![None, None, Some(secs(4))] };
        assert_eq!(shown.all(), of_each.repeat(2));
    }
}

/// Short tasks follow each other, and somebody looks all the time.
#[test]
fn an_attempt_is_never_said_to_have_run_longer_than_it_has() {
    const TASKS: usize = 256;
    let _dog = Watchdog::new();
    let pool = build(builder(1).timing(Timing::Off).queue_capacity(TASKS));
    // The task that runs, and when the one before it came back.
    let running = Arc::new(Mutex::new((None::<TaskId>, Instant::now())));
    let (mut seen, done) = (0, Arc::new(AtomicUsize::new(0)));
    while seen < rounds(200_000, 10) {
        let jobs = (0..TASKS).map(|_| {
            let (own, done) = (Arc::clone(&running), Arc::clone(&done));
            Job::new(move |cx| {
                own.lock().unwrap().0 = Some(cx.id());
                (0..500).for_each(|_| std::hint::spin_loop());
                *own.lock().unwrap() = (None, Instant::now());
                done.fetch_add(1, Ordering::SeqCst);
                Ok(())
            })
        });
        assert_eq!(pool.submitter().submit_batch(jobs).accepted, TASKS);
        while done.load(Ordering::SeqCst) % TASKS != 0 || pool.metrics().counts.queued > 0 {
            let worker = pool.status().workers.remove(0);
            let (id, before) = *running.lock().unwrap();
            let may_be = before.elapsed();
            if let (Some(task), Some(shown)) = (worker.task, worker.running_for) {
                assert!(shown > Duration::ZERO, "as if it had just begun");
                if Some(task.id) == id {
                    seen += 1;
                    assert!(shown <= may_be, "{shown:?} of {may_be:?}");
                }
            }
        }
        pool.wait_idle(LONG).unwrap();
    }
}

/// The system keeps 15 bytes of a thread's name; its number is what tells it from the others.
#[test]
fn threads_of_a_pool_with_a_long_name_are_told_apart_by_the_system() {
    let _dog = Watchdog::new();
    let names = [
        ("image-thumbnails-of-the-shop", "image-thumbna-0", "image-thumbn-10", "image-thu-timer"),
        // Nine bytes would end within a letter.
        ("größenänderungen", "größenände-0", "größenänd-10", "größen-timer"),
        ("as long as it", "as long as it-0", "as long as i-10", "as long a-timer"),
        ("", "-0", "-10", "-timer"),
    ];
    for (pool, first, last, timer) in names {
        let (tell, told) = channel();
        let builder = builder(11).name(pool).on_worker_start(move |me| {
            let kept = std::fs::read_to_string("/proc/thread-self/comm").unwrap();
            let own = std::thread::current().name().unwrap().to_string();
            tell.send((me, own, kept.trim_end().to_string())).unwrap();
        });
        let pool = build(builder);
        let shown: Vec<_> = pool.status().workers.into_iter().map(|worker| worker.name).collect();
        assert_eq!((shown[0].as_str(), shown[10].as_str()), (first, last));
        for (me, own, kept) in told.iter().take(11) {
            assert_eq!((own, kept), (shown[me].clone(), shown[me].clone()));
        }
        eventually("the timer has its name", || comms().any(|comm| comm.trim_end() == timer));
    }
}

/// The names that the system keeps of this process's threads.
fn comms() -> impl Iterator<Item = String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok())
}
