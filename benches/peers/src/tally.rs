//! Counts jobs that ended, and says when the last one did.
//!
//! Each thread counts on a line of its own: one counter for all would cost more than the job. Whoever runs one of the last
//! jobs adds them up under a lock, so that of two threads that end at the same time one sees both, and notes the time.
//! One candidate runs at a time, so all of this is static.

use crate::clock;
use crossbeam::utils::CachePadded;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Longer than any single run.
const PATIENCE: Duration = Duration::from_secs(60);

/// The counter of one thread. Only that thread writes it.
type Line = Arc<CachePadded<AtomicU64>>;

#[derive(Debug)]
struct Board {
    lines: Vec<Line>,
    /// Counted by threads that have left.
    left: u64,
    /// The count that is waited for, and who waits.
    expected: Option<(u64, Thread)>,
    ended_at: Option<u64>,
    /// From submit to start, of each stamp.
    starts: Vec<u64>,
}

static BOARD: Mutex<Board> =
    Mutex::new(Board { lines: Vec::new(), left: 0, expected: None, ended_at: None, starts: Vec::new() });

fn board() -> MutexGuard<'static, Board> {
    BOARD.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Board {
    fn total(&self) -> u64 {
        // Ordering: Acquire, partner of the store in `count`.
        self.left + self.lines.iter().map(|line| line.load(Ordering::Acquire)).sum::<u64>()
    }

    fn look(&mut self) {
        let total = self.total();
        if let Some((_, waiter)) = self.expected.take_if(|(expected, _)| total >= *expected) {
            self.ended_at = Some(clock::now());
            waiter.unpark();
        }
    }
}

struct Mine(Line);

impl Mine {
    fn new() -> Self {
        let line = Line::default();
        board().lines.push(line.clone());
        Mine(line)
    }
}

impl Drop for Mine {
    fn drop(&mut self) {
        let mut board = board();
        board.lines.retain(|line| !Arc::ptr_eq(line, &self.0));
        board.left += self.0.load(Ordering::Relaxed);
    }
}

thread_local! {
    static MINE: Mine = Mine::new();
}

/// One more job has ended. Whoever `looks` tells the one who waits, if it was the last.
pub(crate) fn count(looks: bool) {
    MINE.with(|mine| {
        let count = mine.0.load(Ordering::Relaxed);
        // Ordering: Release, partner of the load in `total`: what the job did is seen by whoever counts it.
        mine.0.store(count + 1, Ordering::Release);
    });
    if looks {
        board().look();
    }
}

pub(crate) fn note_start(nanos: u64) {
    board().starts.push(nanos);
}

/// Takes the times from submit to start, in nanoseconds, in the order in which the jobs started.
pub fn take_starts() -> Vec<u64> {
    std::mem::take(&mut board().starts)
}

/// So many jobs, from now on.
#[derive(Debug)]
#[must_use = "it is there to be waited for"]
pub struct Expected(u64);

/// Expects so many jobs from now on; the calling thread will wait for them.
pub fn expect(jobs: u64) -> Expected {
    let mut board = board();
    let expected = board.total() + jobs;
    board.ended_at = None;
    board.expected = Some((expected, thread::current()));
    // Growing would be the time of some stamp.
    board.starts.reserve(usize::try_from(jobs).unwrap_or(0).min(100_000));
    Expected(expected)
}

impl Expected {
    /// Waits for them, asleep, and says when the last one ended.
    pub fn wait(self) -> u64 {
        let began = Instant::now();
        loop {
            let mut board = board();
            if let Some(at) = board.ended_at {
                return at;
            }
            // The last one may not have been one that looks.
            board.look();
            let total = board.total();
            drop(board);
            assert!(began.elapsed() < PATIENCE, "{} jobs were lost", self.0 - total);
            thread::park_timeout(Duration::from_millis(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Job;

    #[test]
    fn every_job_is_counted_though_its_thread_has_left() {
        let began = clock::now();
        let expected = expect(200);
        let threads: Vec<_> =
            (0..2).map(|_| thread::spawn(|| Job::TINY.row(100).for_each(Job::run))).collect();
        assert!(expected.wait() >= began);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(board().expected.as_ref().map(|(count, _)| *count), None);
    }
}
