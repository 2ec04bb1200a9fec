//! A script on a pool without threads: every moment between two steps is a quiet one.

use super::script::{Act, End, Form, LANES, Offer, Options, Plan, Script, Step, Window};
use super::world::World;
use crate::support::assert_rest;
use dockhand::metrics::PoolMetrics;
use dockhand::{ManualClock, ManualPool, OverloadPolicy, TaskStatus};
use std::sync::Arc;
use std::time::Duration;

/// Where a worker's picks begin with the next lane in turn.
const ROTATION: u64 = 64;

struct Player {
    world: Arc<World>,
    pool: Arc<ManualPool<Arc<World>>>,
    /// Picks up to the last one out of order, at most.
    picks: u64,
}

pub(super) fn play(script: &Script) {
    let world = World::new(script, Some(ManualClock::new()));
    let pool = world.build_manual();
    let mut player = Player { world: Arc::clone(&world), pool, picks: 0 };
    script.before.iter().for_each(|act| player.step(act));
    if !script.beside.is_empty() {
        player.step(&Act::Close);
        script.beside.iter().for_each(|act| player.step(act));
    }
    player.end(script.end);
    assert_eq!(Arc::strong_count(&world), 1, "the pool has let go of everything");
    world.assert_ended();
}

/// A task that does one thing.
pub(super) fn single(act: Act) -> Offer {
    Offer {
        lane: LANES.len() - 1,
        form: Form::Timeout(50),
        overload: Some(OverloadPolicy::Reject),
        options: Options::default(),
        plan: Plan { steps: vec![Step::Do(Box::new(act))], ..Plan::default() },
    }
}

impl Player {
    fn step(&mut self, act: &Act) {
        match act {
            Act::RunOne => drop(self.run_one()),
            Act::RunAll => while self.run_one() {},
            Act::WaitIdle(ticks) => self.wait_idle(self.world.tick.of(*ticks)),
            act => self.world.act(act),
        }
        self.check();
    }

    fn check(&self) {
        let metrics = self.world.assert_counted(&self.pool);
        assert_eq!((metrics.counts.running, metrics.busy_workers), (0, 0));
        assert!(self.pool.status().workers.iter().all(|worker| worker.task.is_none()));
        for lane in &metrics.lanes {
            assert_eq!(lane.permits_in_use, 0, "{lane:#?}");
            assert!(lane.counts.queued <= lane.queue_capacity as u64, "{lane:#?}");
            assert!(lane.counts.delayed <= lane.delay_capacity as u64, "{lane:#?}");
        }
    }

    /// A turn, which must begin with the most urgent lane that may start something.
    fn run_one(&mut self) -> bool {
        let before = self.pool.metrics();
        let may_start =
            |lane: &dockhand::metrics::LaneMetrics| lane.counts.queued > 0 && lane.max_concurrency > 0;
        let urgent = before.lanes.iter().position(may_start);
        self.world.book.pages().first = None;
        let ran = self.pool.run_one();
        let first = self.world.book.pages().first.flatten();
        let (Some(first), Some(urgent)) = (first, urgent) else { return ran };
        if first > urgent {
            let picks = most_picks(&self.pool.metrics());
            assert!(picks - self.picks >= ROTATION, "lane {first} before lane {urgent}");
            self.picks = picks;
        }
        ran
    }

    fn wait_idle(&self, timeout: Duration) {
        let until = self.world.now() + timeout;
        match self.pool.wait_idle(timeout) {
            Ok(()) => assert_rest(&self.pool),
            Err(_) => assert!(self.world.now() >= until),
        }
    }

    fn end(mut self, end: End) {
        let window = match end {
            End::Drop | End::DropInside => None,
            End::Shutdown(window) => Some(window),
            End::TwoShutdowns(window) => {
                self.step(&Act::Shutdown(window));
                Some(Window::Ticks(0))
            }
            End::FromInside(window) => {
                self.step(&Act::Offer(single(Act::Shutdown(window))));
                self.step(&Act::RunAll);
                Some(Window::Long)
            }
        };
        if let Some(window) = window {
            self.step(&Act::Shutdown(window));
            assert_rest(&self.pool);
            self.world.assert_unheard_counted(&self.pool.metrics());
            self.step(&Act::Requeue);
            for handle in &mut *self.world.handles.lock().unwrap() {
                let status = handle.status();
                assert!(matches!(status, TaskStatus::Ended(_)), "{handle:?}");
                self.world.wait(handle, Duration::ZERO);
            }
            self.step(&Act::DrainLetters);
        }
        let Player { world, pool, .. } = self;
        drop(pool);
        world.forget_all();
    }
}

/// Each pick ran something, or found that it was late or gone.
fn most_picks(metrics: &PoolMetrics) -> u64 {
    let counts = &metrics.counts;
    counts.attempts + counts.expired + counts.cancelled
}
