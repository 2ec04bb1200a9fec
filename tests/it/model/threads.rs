//! A script on real threads, with an end while another one still offers.

use super::manual::single;
use super::script::{Act, End, Script, Window};
use super::world::{Pool, World};
use crate::support::{assert_rest, eventually};
use dockhand::TaskStatus;
use dockhand::metrics::Phase;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Far more than a script's work takes, and far less than the longest window: nobody waits for nothing.
const PROMPT: Duration = Duration::from_secs(15);

pub(super) fn play(script: &Script) {
    let world = World::new(script, None);
    let pool = world.build();
    for act in &script.before {
        match act {
            Act::WaitIdle(ticks) if pool.wait_idle(world.tick.of(*ticks)).is_ok() => {
                if pool.status().phase != Phase::Open {
                    // Nor is one that stops, whose hooks are still called.
                    eventually("all workers have left", || pool.metrics().live_workers == 0);
                }
                assert_rest(&pool);
                world.assert_counted(&pool);
            }
            act => world.act(act),
        }
    }
    let began = Instant::now();
    let pool = thread::scope(|scope| {
        scope.spawn(|| script.beside.iter().for_each(|act| world.act(act)));
        end(&world, pool, script.end)
    });
    if let Some(pool) = pool {
        rest(&world, &pool);
    }
    // The pool may be dropped by a hook, and an attempt that was given up comes back a moment later. Whoever could still
    // do something, a worker, a hook or a payload, owns the world.
    eventually("nobody is left", || {
        world.forget_all();
        Arc::strong_count(&world) == 1
    });
    assert!(began.elapsed() < PROMPT, "{:?} for the end", began.elapsed());
    world.assert_ended();
}

/// Ends the pool; it is given back unless it was dropped.
fn end(world: &Arc<World>, pool: Arc<Pool>, end: End) -> Option<Arc<Pool>> {
    match end {
        End::Shutdown(window) => world.act(&Act::Shutdown(window)),
        End::TwoShutdowns(window) => thread::scope(|scope| {
            scope.spawn(|| world.act(&Act::Shutdown(window)));
            world.act(&Act::Shutdown(Window::Ticks(0)));
        }),
        End::FromInside(window) => {
            world.act(&Act::Offer(single(Act::Shutdown(window))));
            world.act(&Act::Shutdown(Window::Long));
        }
        End::Drop => {
            drop(pool);
            return None;
        }
        End::DropInside => {
            *world.kept.lock().unwrap() = Some(pool);
            world.act(&Act::Offer(single(Act::LetGo)));
            // Whoever takes it first: the task, if it was accepted and runs, or this thread.
            world.act(&Act::LetGo);
            return None;
        }
    }
    Some(pool)
}

/// After a shutdown from outside.
fn rest(world: &Arc<World>, pool: &Pool) {
    eventually("all workers have left", || pool.metrics().live_workers == 0);
    world.requeue_all();
    for handle in &mut *world.handles.lock().unwrap() {
        let status = handle.status();
        assert!(matches!(status, TaskStatus::Ended(_)), "{handle:?}");
        world.wait(handle, Duration::ZERO);
    }
    assert_rest(pool);
    let metrics = world.assert_counted(pool);
    world.assert_unheard_counted(&metrics);
    world.drain_letters();
}
