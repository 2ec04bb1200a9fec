//! What is done with letters, keys, delayed tasks and handles costs in proportion to what is touched.

#[path = "../../benches/growth/costs.rs"]
mod costs;

use crate::limits::lane_of;
use crate::support::{Job, Watchdog, accepted, assert_rest, builder};
use dockhand::{Lane, RejectReason};
use std::time::Duration;

/// Once many costs about what forty times few does, however busy the machine is; with a quadratic cost it is up to forty
/// times as much.
#[test]
fn no_cost_grows_with_the_square_of_what_is_touched() {
    const TIMES: usize = 40;
    const FEW: usize = 250;
    let _dog = Watchdog::new();
    let too_much = costs::SCENARIOS.into_iter().filter_map(|(name, scenario)| {
        let few: Duration = (0..TIMES).map(|_| scenario(FEW)).sum();
        // A run that was disturbed is made again.
        let is_dear = (0..2).all(|_| scenario(TIMES * FEW) > few * 10);
        is_dear
            .then(|| format!("{name}: forty times few took {few:?}, once many took over ten times as long"))
    });
    let too_much: Vec<_> = too_much.collect();
    assert!(too_much.is_empty(), "{too_much:#?}");
}

/// A lane that is full is asked once, and the letters of other lanes go on.
#[test]
fn a_replay_asks_a_full_lane_once() {
    let _dog = Watchdog::new();
    let narrow = Lane::new("narrow").queue_capacity(1);
    let pool = builder(1).lane(narrow).queue_capacity(100).build_manual().unwrap();
    let narrow = pool.submitter_for("narrow").unwrap();
    for n in 0..50 {
        narrow.submit(Job::fail().number(n)).into_result().unwrap();
        accepted(&pool, Job::fail().number(100 + n));
        assert_eq!(pool.run_until_idle(), 2);
    }
    assert_eq!(pool.dead_letters().requeue_all(), 51, "one into the narrow lane, all into the other");
    assert_eq!((lane_of(&pool, "narrow").counts.rejected, lane_of(&pool, "default").counts.rejected), (1, 0));
    let left: Vec<_> = pool.dead_letters().list();
    let first = left[0].task.id;
    assert_eq!(pool.dead_letters().requeue(first), Err(RejectReason::QueueFull));
    // Those that have failed again meanwhile are not asked a second time by the same call.
    pool.run_until_idle();
    assert_eq!(pool.dead_letters().len(), 100);
    let order: Vec<_> = pool.dead_letters().drain().into_iter().map(|letter| letter.payload.number).collect();
    let stayed = 1..50;
    assert!(order.iter().copied().take(49).eq(stayed), "what did not fit stays in its place: {order:?}");
    assert_rest(&pool);
}

/// A closed pool takes none, and says so once.
#[test]
fn a_replay_asks_a_closed_pool_once() {
    let _dog = Watchdog::new();
    let pool = builder(1).build_manual().unwrap();
    for _ in 0..5 {
        accepted(&pool, Job::fail());
    }
    pool.run_until_idle();
    pool.begin_shutdown();
    assert_eq!((pool.dead_letters().requeue_all(), pool.dead_letters().len()), (0, 5));
    assert_eq!(pool.metrics().counts.rejected, 1);
}
