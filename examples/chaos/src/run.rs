//! A run from its first thread to its last.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;

use crate::options::Options;
use crate::patience::Patience;
use crate::pool::Stepping;
use crate::report::Report;
use crate::script::{self, Script};
use crate::watchdog::{self, Beat, Watchdog};
use crate::yard::Yard;
use crate::{book, closing, findings, live, logger, panics, pool, threads};

pub(crate) fn run(options: &Options) -> Report {
    findings::start(options.seed);
    panics::install_hook();
    logger::install(options.seed);
    let watchdog = Watchdog::new();
    let threads_at_start = threads::alive();
    let yard = Arc::new(Yard::new(options.threads));
    let began = Instant::now();
    play(options, &yard, &watchdog, began + Duration::from_secs(options.seconds));
    let played = began.elapsed();
    clear(options.seed, yard, &watchdog);
    let threads_alive = threads::left_over(threads_at_start);
    wait_for_the_last();
    Report::new(options, played, threads_alive)
}

fn play(options: &Options, yard: &Arc<Yard>, watchdog: &Watchdog, until: Instant) {
    let workers = options.workers;
    let mut threads: Vec<_> = (0..options.threads)
        .map(|thread| {
            let (script, yard) = (Script::new(options.seed, thread), Arc::clone(yard));
            let beat = watchdog.beat(format!("thread {thread}"));
            let its_beat = Arc::clone(&beat);
            let play = move || script::play(script, &yard, workers, until, &its_beat);
            (beat, std::thread::spawn(play))
        })
        .collect();
    // In the order in which they end: one that has ended is not to be taken for one that hangs.
    while !threads.is_empty() {
        std::thread::sleep(Duration::from_millis(5));
        let (ended, left): (Vec<_>, _) = threads.into_iter().partition(|(_, thread)| thread.is_finished());
        for (beat, thread) in ended {
            if thread.join().is_err() {
                findings::other("a script's thread panicked");
            }
            watchdog.forget(&beat);
        }
        threads = left;
    }
}

/// Ends every pool that is left. On a thread of its own: a task that a manual pool runs on it may leave something in its
/// thread-locals.
fn clear(seed: u64, yard: Arc<Yard>, watchdog: &Watchdog) {
    let beat = watchdog.beat("the last thread");
    let its_beat = Arc::clone(&beat);
    let last = std::thread::spawn(move || {
        its_beat.adopt();
        let mut dice = Rng::with_seed(seed);
        for place in 0..yard.places() {
            its_beat.begins("the end", place);
            script::end(yard.put(place, None), &mut dice);
        }
        end_the_hidden(&its_beat);
    });
    if last.join().is_err() {
        findings::other("the last thread panicked");
    }
    watchdog.forget(&beat);
}

/// A pool that a waiting payload holds is held by itself, until a shutdown gives the payload back.
fn end_the_hidden(beat: &Beat) {
    let mut ended = HashSet::new();
    let mut patience = Patience::new();
    loop {
        let hidden = pool::live();
        if hidden.is_empty() {
            return;
        }
        if !patience.lasts() {
            return findings::other(format!("{} pools stay, though they were shut down", hidden.len()));
        }
        for pool in hidden {
            beat.begins("the end of the hidden", 0);
            watchdog::names(&pool);
            let _stepping = Stepping::begin(&pool);
            if ended.insert(pool.book.name.clone()) {
                // There were more of them than one could see.
                patience = Patience::new();
            }
            let end = AssertUnwindSafe(|| closing::from_outside(&pool, Duration::from_millis(10)));
            if catch_unwind(end).is_err() {
                findings::other("a panic got out of a shutdown");
            }
        }
    }
}

/// A pool that one of its own tasks has dropped may be a moment from its end.
fn wait_for_the_last() {
    let mut patience = Patience::new();
    while live::alive() != 0 && patience.lasts() {
        std::thread::sleep(Duration::from_millis(5));
    }
    if live::alive() != 0 {
        findings::other(format!("still alive: {}; of {:?}", live::by_kind(), book::open()));
    }
}
