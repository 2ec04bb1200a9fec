//! What was asked for, on threads: the build, the waits, and the timer.

use super::asked::{Act, Asked, Options};
use super::run::{Load, Runs, builder};
use crate::support::{assert_rest, eventually};
use dockhand::{TaskContext, TaskHandle, processor_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A wait that nothing ends takes as long as was asked for, so no more than this is asked for.
const MOST: Duration = Duration::from_micros(500);

pub(super) fn run(asked: &Asked) {
    let is_early = Arc::new(AtomicBool::new(false));
    let (found, base) = (Arc::clone(&is_early), asked.base);
    let runs = processor_fn(move |load: &mut Load, _: &TaskContext<'_, Load>| {
        load.calls += 1;
        if base.elapsed().as_nanos() < load.due {
            found.store(true, Ordering::SeqCst);
        }
        load.due = base.elapsed().as_nanos() + load.backoff.as_nanos();
        if load.calls <= u64::from(load.fails) { Err("as planned".to_string()) } else { Ok(()) }
    });
    // A stack that the system refuses, and a name that it cannot hold, are errors of the build.
    let may_fail = asked.is_wrong() || asked.stack.is_some() || asked.name.contains('\0');
    let built = builder(asked, runs).drop_timeout(asked.drop_timeout.min(MOST)).build();
    assert!(built.is_ok() || may_fail, "{built:?}");
    assert!(built.is_err() || !asked.is_wrong());
    let Ok(pool) = built else { return };
    let names: Vec<_> = pool.metrics().lanes.into_iter().map(|lane| lane.name).collect();
    let mut handles: Vec<TaskHandle<Runs>> = Vec::new();
    for act in &asked.acts {
        match act {
            Act::Submit { lane, form, timeout, options, fails, .. } => {
                let submitter = pool.submitter_for(&names[lane % names.len()]).unwrap();
                let options = if *form == 1 || *form == 3 { options.clone() } else { Options::default() };
                let load = load(asked, &names[lane % names.len()], &options, *fails);
                match form {
                    0 => drop(submitter.submit(load)),
                    1 => drop(submitter.submit_with(load, options.options())),
                    2 => drop(submitter.submit_timeout(load, (*timeout).min(MOST))),
                    3 => handles.extend(submitter.submit_tracked_with(load, options.options())),
                    _ => drop(submitter.submit_batch([load])),
                }
            }
            Act::WaitIdle(timeout) => drop(pool.wait_idle((*timeout).min(MOST))),
            Act::Wait(n, timeout) => {
                let place = n.checked_rem(handles.len());
                place.into_iter().for_each(|place| drop(handles[place].wait_timeout((*timeout).min(MOST))));
            }
            Act::Cancel(n) => {
                let place = n.checked_rem(handles.len());
                place.into_iter().for_each(|place| drop(handles[place].cancel()));
            }
            Act::Limit(lane, limit) => drop(pool.set_max_concurrency(&names[lane % names.len()], *limit)),
            _ => drop((pool.metrics(), pool.status())),
        }
    }
    if let Some(window) = asked.window {
        drop(pool.shutdown(window.min(MOST)));
        eventually("the workers have left", || pool.metrics().live_workers == 0);
        assert_rest(&pool);
    }
    drop(pool);
    assert!(!is_early.load(Ordering::SeqCst), "a start was early");
}

fn load(asked: &Asked, lane: &str, options: &Options, fails: u8) -> Load {
    let now = Instant::now() - asked.base;
    Load {
        fails,
        progress: (0, 0),
        due: now.as_nanos() + options.delay.unwrap_or_default().as_nanos(),
        deadline: u128::MAX,
        calls: 0,
        most: u64::MAX,
        backoff: match asked.decision {
            Some(dockhand::RetryDecision::RetryAfter(delay)) => delay,
            _ => asked.retry_of(lane).shortest(),
        },
    }
}
