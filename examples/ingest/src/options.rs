//! What can be said on the command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

/// Reads every file of a directory on a worker pool: counts lines and words, hashes, makes
/// thumbnails of PNG and JPEG pictures, and notifies an endpoint once per finished file.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Options {
    /// The directory to read.
    pub(crate) directory: PathBuf,

    /// Worker threads [default: one per processor].
    #[arg(long)]
    pub(crate) workers: Option<NonZeroUsize>,

    /// Tasks that may wait in each lane.
    #[arg(long, default_value = "1024")]
    pub(crate) capacity: NonZeroUsize,

    /// Where the thumbnails go [default: a new folder among the temporary files, if there are any].
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,

    /// The share of requests, 0 to 1, that the endpoint answers with 503.
    #[arg(long, default_value = "0.1", value_parser = share)]
    pub(crate) flaky: f64,

    /// Thumbnails that may be made at a time [default: as many as there are workers].
    #[arg(long, value_name = "N")]
    pub(crate) limit_preview: Option<NonZeroUsize>,

    /// How long a notice may wait before it is given up, retries included [default: as long as it takes].
    #[arg(long, value_parser = some_time, value_name = "DURATION")]
    pub(crate) ttl: Option<Duration>,

    /// How long an interrupted run may go on: seconds, or with a unit, as in 500ms or 2.5s.
    #[arg(long, default_value = "10s", value_parser = duration)]
    pub(crate) timeout: Duration,

    /// How often a line tells how far the run is, where there is no terminal to show it.
    #[arg(long, default_value = "10s", value_parser = some_time, value_name = "DURATION")]
    pub(crate) progress: Duration,

    /// Print the totals as one line of JSON, last.
    #[arg(long)]
    pub(crate) json: bool,

    /// Write the pool's numbers to this file at the end, as Prometheus would scrape them.
    #[arg(long, value_name = "FILE")]
    pub(crate) prometheus: Option<PathBuf>,
}

impl Options {
    pub(crate) fn worker_count(&self) -> usize {
        let parallel = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.workers.unwrap_or_else(parallel).get()
    }
}

fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err("not between 0 and 1".to_owned()) }
}

fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1e-3),
        None => (text.strip_suffix('s').unwrap_or(text), 1.0),
    };
    let number: f64 = number.trim().parse().map_err(|_| "not a number".to_owned())?;
    Duration::try_from_secs_f64(number * unit).map_err(|error| error.to_string())
}

fn some_time(text: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    if time.is_zero() { Err("no time at all".to_owned()) } else { Ok(time) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_seconds_unless_it_says_otherwise() {
        assert_eq!(duration("2"), Ok(Duration::from_secs(2)));
        assert_eq!(duration("2.5s"), Ok(Duration::from_millis(2500)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        for bad in ["", "-1", "NaN", "inf", "1h", "1e300"] {
            assert!(duration(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_notice_has_some_time_to_arrive() {
        assert_eq!(some_time("1ms"), Ok(Duration::from_millis(1)));
        assert!(some_time("0").is_err());
    }

    #[test]
    fn a_share_is_between_nothing_and_all() {
        assert_eq!(share("0"), Ok(0.0));
        assert_eq!(share("1"), Ok(1.0));
        for bad in ["1.1", "-0.1", "NaN", "x"] {
            assert!(share(bad).is_err(), "{bad:?}");
        }
    }
}
