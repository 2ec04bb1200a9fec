//! Every option, limit and cancel at once, on threads, and the end at any moment: the law holds, and nothing is kept.

use crate::support::{
    Gate, Job, LONG, Ledger, POLICIES, Rng, Runs, Watchdog, assert_rest, build, builder, panic_quietly,
    rounds,
};
use dockhand::{
    CancelOutcome, Lane, RetryDecision, RetryPolicy, SubmitResult, TaskHandle, TaskOptions, TaskStatus,
    TaskSubmitter,
};
use std::time::Duration;

/// What a producer counted itself.
#[derive(Default)]
struct Seen {
    accepted: u64,
    caller_run: u64,
    refused: u64,
    dropped: u64,
    /// Payloads that a cancel gave back.
    cancelled: u64,
    handles: Vec<TaskHandle<Runs>>,
}

impl Seen {
    fn answered(&mut self, answer: SubmitResult<Job>) {
        match answer {
            SubmitResult::Accepted(_) => self.accepted += 1,
            SubmitResult::CallerRun(_) => self.caller_run += 1,
            SubmitResult::Rejected(_) => self.refused += 1,
            SubmitResult::Dropped(_) => self.dropped += 1,
        }
    }
}

fn job(rng: &mut Rng, ledger: &Ledger) -> Job {
    let (kind, spin) = (rng.below(6), rng.below(200));
    let job = Job::new(move |cx| {
        (0..spin).for_each(|_| std::hint::spin_loop());
        match kind {
            0 if cx.attempt() == 1 => Err("again".into()),
            1 => Err("as planned".into()),
            2 => panic_quietly(),
            3 => Ok(cx.checkpoint()?),
            _ => Ok(()),
        }
    });
    job.track(ledger.track())
}

fn options(rng: &mut Rng) -> TaskOptions {
    let mut options = TaskOptions::new();
    let micros = |rng: &mut Rng| Duration::from_micros(rng.below(400));
    if rng.below(3) == 0 {
        options = options.delay(micros(rng));
    }
    if rng.below(40) == 0 {
        options = options.delay(Duration::from_secs(3600));
    }
    if rng.below(3) == 0 {
        options = options.ttl(micros(rng) + Duration::from_micros(100));
    }
    if rng.below(4) == 0 {
        options = options.key(rng.below(3).to_string());
    }
    options
}

fn produce(lanes: &[TaskSubmitter<Runs>; 2], ledger: &Ledger, seed: u64) -> Seen {
    let (mut rng, mut seen) = (Rng::new(seed), Seen::default());
    for _ in 0..200 {
        let lane = lanes[rng.below(2) as usize].with_overload(POLICIES[rng.below(4) as usize]);
        let job = job(&mut rng, ledger);
        match rng.below(6) {
            0 => seen.answered(lane.submit(job)),
            1 => seen.answered(lane.submit_timeout(job, Duration::from_micros(rng.below(300)))),
            2 => seen.answered(lane.submit_with(job, options(&mut rng))),
            _ => match lane.submit_tracked_with(job, options(&mut rng)) {
                Ok(handle) => seen.handles.push(handle),
                Err(_) => seen.refused += 1,
            },
        }
        if rng.below(2) == 0 && !seen.handles.is_empty() {
            let place = rng.below(seen.handles.len() as u64) as usize;
            match rng.below(4) {
                0 => drop(seen.handles[place].wait_timeout(Duration::from_micros(50))),
                1 => drop(seen.handles.swap_remove(place).cancel_on_drop()),
                _ => {
                    let outcome = seen.handles[place].cancel();
                    seen.cancelled += u64::from(matches!(outcome, CancelOutcome::Cancelled(_)));
                }
            }
        }
    }
    seen
}

#[test]
fn a01_a09_a15_everything_at_once() {
    let _dog = Watchdog::new();
    let mut rng = Rng::new(17);
    for round in 0..rounds(3000, 20) {
        let lane = |name| Lane::new(name).queue_capacity(6).delay_capacity(6);
        let pool = builder(3)
            .lane(lane("a").max_concurrency(1).attempt_timeout(Duration::from_micros(30)))
            .lane(lane("default").ttl(Duration::from_millis(2)))
            .dead_letter_capacity(8)
            .retry(RetryPolicy::fixed(Duration::from_micros(60)).max_retries(1).budget(0.5, 1.0))
            .classify(|_| RetryDecision::Retry);
        let (pool, ledger) = (build(pool), Ledger::new());
        let lanes = ["a", "default"].map(|name| pool.submitter_for(name).unwrap());
        let window = [Duration::ZERO, Duration::from_micros(300), LONG][round % 3];
        let start = Gate::new();
        let seen = std::thread::scope(|scope| {
            let producers = [1, 2, 3].map(|seed| {
                let (lanes, ledger, start) = (&lanes, &ledger, &start);
                scope.spawn(move || {
                    start.pass();
                    produce(lanes, ledger, seed + 5 * round as u64)
                })
            });
            start.wait_arrived(3);
            start.open();
            let steps = rng.below(200);
            for _ in 0..steps {
                pool.set_max_concurrency("a", rng.below(3) as usize).unwrap();
                (0..rng.below(3000)).for_each(|_| std::hint::spin_loop());
            }
            pool.set_max_concurrency("a", 1).unwrap();
            let report = pool.shutdown(window);
            assert!(report.took < LONG / 2, "{:?}", report.took);
            drop(report);
            producers.map(|producer| producer.join().unwrap())
        });
        drop(pool.shutdown(Duration::ZERO));
        assert_rest(&pool);
        let (metrics, sum) = (pool.metrics(), |of: fn(&Seen) -> u64| seen.iter().map(of).sum::<u64>());
        let counts = metrics.counts;
        assert_eq!(counts.submitted, 600, "{counts:?}");
        assert!(
            counts.accepted >= sum(|seen| seen.accepted) && counts.caller_run >= sum(|seen| seen.caller_run)
        );
        assert!(counts.cancelled >= sum(|seen| seen.cancelled), "{counts:?}");
        assert_eq!(counts.rejected + counts.dropped, sum(|seen| seen.refused + seen.dropped));
        assert!(metrics.lanes.iter().all(|lane| lane.permits_in_use == 0), "{metrics:?}");
        for handle in seen.iter().flat_map(|seen| &seen.handles) {
            assert!(matches!(handle.status(), TaskStatus::Ended(_)), "{handle:?}");
            assert!(matches!(handle.cancel(), CancelOutcome::TooLate));
        }
        drop(pool);
        ledger.assert_all_gone();
    }
}
