//! One line on the terminal while the pool works; where there is no terminal, a line now and then.

use std::time::{Duration, Instant};

use dockhand::metrics::PoolMetrics;
use indicatif::{ProgressBar, ProgressStyle};

use crate::plain::say;

/// The progress on standard error.
pub(crate) struct Progress {
    bar: ProgressBar,
    every: Duration,
    start: Instant,
    /// When the last line was said.
    said: Instant,
}

impl Progress {
    /// Without a terminal it says a line after each time of `every`.
    pub(crate) fn start(every: Duration) -> Self {
        let bar = ProgressBar::new(0);
        if let Ok(style) =
            ProgressStyle::with_template("{prefix}{elapsed:>4} {bar:30} {pos}/{len} tasks  {wide_msg}")
        {
            bar.set_style(style);
        }
        let start = Instant::now();
        Self { bar, every, start, said: start }
    }

    /// The number of tasks grows while the walker finds files, so this is about what is known.
    pub(crate) fn show(&mut self, metrics: &PoolMetrics) {
        let is_due = self.said.elapsed() >= self.every;
        if self.bar.is_hidden() && !is_due {
            return;
        }
        let counts = &metrics.counts;
        let known = counts.accepted + counts.caller_run;
        let ended = known.saturating_sub(counts.queued + counts.delayed + counts.running);
        let waiting: Vec<String> = metrics
            .lanes
            .iter()
            .filter(|lane| lane.counts.submitted > 0)
            .map(|lane| format!("{} {}", lane.name, lane.counts.queued + lane.counts.delayed))
            .collect();
        let message = format!("waiting: {}; dead letters: {}", waiting.join(", "), metrics.letters);
        if self.bar.is_hidden() {
            let seconds = self.start.elapsed().as_secs_f64();
            say(&format!("{seconds:.1} s: {ended} of {known} tasks ended; {message}"));
            self.said = Instant::now();
            return;
        }
        self.bar.set_length(known);
        self.bar.set_position(ended);
        self.bar.set_message(message);
    }

    /// Tells that the run was asked to stop, and how long that may take.
    pub(crate) fn stopping(&self, timeout: Duration) {
        self.bar.set_prefix("stopping ");
        if self.bar.is_hidden() {
            say(&format!("interrupted: what was taken is finished, for {timeout:?} at most"));
        }
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
