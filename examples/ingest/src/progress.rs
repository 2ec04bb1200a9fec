//! One line on the terminal while the pool works; nothing where there is no terminal.

use dockhand::metrics::PoolMetrics;
use indicatif::{ProgressBar, ProgressStyle};

/// The progress bar on standard error.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn start() -> Self {
        let bar = ProgressBar::new(0);
        if let Ok(style) =
            ProgressStyle::with_template("{prefix}{elapsed:>4} {bar:30} {pos}/{len} tasks  {wide_msg}")
        {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// The number of tasks grows while the walker finds files, so the bar is about what is known.
    pub(crate) fn show(&self, metrics: &PoolMetrics) {
        if self.0.is_hidden() {
            return;
        }
        let counts = &metrics.counts;
        let known = counts.accepted + counts.caller_run;
        self.0.set_length(known);
        self.0.set_position(known.saturating_sub(counts.queued + counts.delayed + counts.running));
        let waiting: Vec<String> = metrics
            .lanes
            .iter()
            .filter(|lane| lane.counts.submitted > 0)
            .map(|lane| format!("{} {}", lane.name, lane.counts.queued + lane.counts.delayed))
            .collect();
        self.0.set_message(format!("waiting: {}; dead letters: {}", waiting.join(", "), metrics.letters));
    }

    pub(crate) fn stopping(&self) {
        self.0.set_prefix("stopping ");
    }

    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}
