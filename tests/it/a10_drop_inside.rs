//! A10: the pool may be dropped by its own user code, wherever that runs.

use crate::support::{
    Gate, Job, LONG, Ledger, Runs, SLACK, Watchdog, assert_threads, builder, eventually, ms, unique,
};
use dockhand::letter::LetterFate;
use dockhand::{OverloadPolicy, PoolBuilder, RetryDecision, TaskSubmitter, WorkerPool};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

type Slot = Arc<Mutex<Option<WorkerPool<Runs>>>>;

/// Drops the pool, the first time it is called; says how long that took.
fn dropper(slot: &Slot) -> (impl Fn() + Send + Sync + Clone + 'static, Receiver<Duration>) {
    let (tell, told) = channel();
    let slot = Arc::clone(slot);
    let drop_it = move || {
        let pool = slot.lock().unwrap().take();
        let start = Instant::now();
        if pool.is_some() {
            drop(pool);
            tell.send(start.elapsed()).unwrap();
        }
    };
    (drop_it, told)
}

fn with_hook(
    which: &str,
    builder: PoolBuilder<Runs>,
    hook: impl Fn() + Send + Sync + 'static,
) -> PoolBuilder<Runs> {
    match which {
        "sink" => builder.dead_letter_sink(move |_| {
            hook();
            LetterFate::Keep
        }),
        "classify" => builder.classify(move |_| {
            hook();
            RetryDecision::GiveUp
        }),
        "on_shed" => builder.on_shed(move |_| hook()),
        "on_worker_stop" => builder.on_worker_stop(move |_| hook()),
        _ => builder,
    }
}

/// The only worker blocks, and its queue of one is full.
fn fill(submitter: &TaskSubmitter<Runs>, ledger: &Ledger) -> Gate {
    let plug = Gate::new();
    submitter.submit(Job::plug(&plug).track(ledger.track())).into_result().unwrap();
    plug.wait_arrived(1);
    submitter.submit(Job::ok().track(ledger.track())).into_result().unwrap();
    plug
}

#[test]
fn a10_hooks_may_drop_the_pool() {
    let _dog = Watchdog::new();
    for which in ["sink", "classify", "on_worker_stop", "on_shed", "caller-run", "drop of a payload"] {
        let (name, ledger, slot) = (unique("hd"), Ledger::new(), Slot::default());
        let (hook, told) = dropper(&slot);
        let builder = builder(1).name(&name).queue_capacity(1).drop_timeout(ms(20));
        let pool = with_hook(which, builder, hook.clone()).build().unwrap();
        let submitter = pool.submitter();
        *slot.lock().unwrap() = Some(pool);
        let submit = |job: Job| submitter.submit(job.track(ledger.track())).into_result().map(drop);
        match which {
            "sink" | "classify" => submit(Job::fail()).unwrap(),
            "on_worker_stop" => slot.lock().unwrap().as_ref().unwrap().begin_shutdown(),
            "drop of a payload" => {
                let bomb = OnDrop(hook);
                submit(Job::run(move || {
                    let _ = &bomb;
                }))
                .unwrap();
            }
            _ => {
                let plug = fill(&submitter, &ledger);
                let (policy, job) = match which {
                    "on_shed" => (OverloadPolicy::DropOldest, Job::ok()),
                    _ => (OverloadPolicy::CallerRuns, Job::run(hook)),
                };
                let acting = submitter.with_overload(policy);
                assert!(acting.submit(job.track(ledger.track())).into_result().is_ok(), "{which}");
                plug.open();
            }
        }
        let took = told.recv_timeout(LONG).expect(which);
        assert!(took < ms(250) * SLACK, "{which}: {took:?}");
        assert_threads(&name, 0);
        assert!(submit(Job::ok()).is_err());
        drop(submitter);
        eventually("all payloads are gone", || ledger.alive() == 0);
        ledger.assert_all_gone();
    }
}

struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// By its own worker while others submit, wait for room and run in their own threads.
#[test]
fn a10_a_worker_drops_its_pool_under_load() {
    let _dog = Watchdog::new();
    for round in 0..crate::support::rounds(1000, 20) {
        let (name, ledger, slot) = (unique("ul"), Ledger::new(), Slot::default());
        let (hook, told) = dropper(&slot);
        let policy = crate::support::POLICIES[round % 4];
        let builder = builder(2).name(&name).queue_capacity(2).overload(policy).drop_timeout(ms(5));
        let pool = builder.build().unwrap();
        let submitter = pool.submitter();
        *slot.lock().unwrap() = Some(pool);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for n in 0.. {
                        let job = Job::ok().track(ledger.track());
                        let answer = if n % 2 == 0 {
                            submitter.submit(job)
                        } else {
                            submitter.submit_timeout(job, LONG)
                        };
                        let refused = answer.into_result().err();
                        if refused.is_some_and(|refused| refused.reason() == dockhand::RejectReason::Closed) {
                            return;
                        }
                    }
                });
            }
            // Such a task may be displaced before its turn.
            let rejecting = submitter.with_overload(OverloadPolicy::Reject);
            eventually("one of them runs", || {
                drop(rejecting.submit(Job::run(hook.clone())));
                slot.lock().unwrap().is_none()
            });
        });
        told.recv_timeout(LONG).unwrap();
        assert_threads(&name, 0);
        drop(submitter);
        eventually("all payloads are gone", || ledger.alive() == 0);
        ledger.assert_all_gone();
    }
}
