//! Times by their order of magnitude: 16 buckets for each doubling, so that no value is off by more than 5 %.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Below this everything is one bucket.
const SMALLEST: u64 = 1 << 10;
const SUB_BITS: u32 = 4;
const SUBS: usize = 1 << SUB_BITS;
/// 2^10 ns, about a microsecond, to 2^42 ns, more than an hour.
const OCTAVES: usize = 32;
const BUCKETS: usize = 1 + OCTAVES * SUBS;

fn bucket(nanos: u64) -> usize {
    if nanos < SMALLEST {
        return 0;
    }
    let octave = nanos.ilog2();
    let sub = (nanos >> (octave - SUB_BITS)) as usize & (SUBS - 1);
    (1 + (octave - SMALLEST.ilog2()) as usize * SUBS + sub).min(BUCKETS - 1)
}

/// The middle of a bucket, in nanoseconds.
fn middle(bucket: usize) -> u64 {
    let Some(place) = bucket.checked_sub(1) else { return SMALLEST / 2 };
    let octave = (place / SUBS) as u32 + SMALLEST.ilog2();
    let width = 1_u64 << (octave - SUB_BITS);
    (1 << octave) + (place % SUBS) as u64 * width + width / 2
}

/// What one writer, or several, record. Takes no memory until the first value.
#[derive(Default)]
pub(crate) struct Recording(OnceLock<Box<Cells>>);

struct Cells {
    buckets: [AtomicU64; BUCKETS],
    sum: AtomicU64,
}

impl Recording {
    fn cells(&self) -> &Cells {
        self.0.get_or_init(|| {
            Box::new(Cells { buckets: [const { AtomicU64::new(0) }; BUCKETS], sum: AtomicU64::new(0) })
        })
    }

    /// For the only writer.
    pub(crate) fn record_own(&self, time: Duration) {
        let nanos = nanos_of(time);
        let cells = self.cells();
        add_own(&cells.buckets[bucket(nanos)], 1);
        add_own(&cells.sum, nanos);
    }

    /// For one of several writers.
    pub(crate) fn record_shared(&self, time: Duration) {
        let nanos = nanos_of(time);
        let cells = self.cells();
        cells.buckets[bucket(nanos)].fetch_add(1, Ordering::Relaxed);
        cells.sum.fetch_add(nanos, Ordering::Relaxed);
    }
}

/// Adds to a number that only this thread writes.
fn add_own(cell: &AtomicU64, n: u64) {
    let before = cell.load(Ordering::Relaxed);
    cell.store(before.saturating_add(n), Ordering::Relaxed);
}

fn nanos_of(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The distribution of a time, from about 1 µs to more than an hour; a quantile is off by at most 5 %.
///
/// ```
/// use dockhand::{Timing, WorkerPool, processor_fn};
/// use std::time::Duration;
///
/// let pool = WorkerPool::builder(processor_fn(|millis: &mut u64, _cx| {
///     std::thread::sleep(Duration::from_millis(*millis));
///     Ok::<(), String>(())
/// }))
/// .timing(Timing::Full)
/// .build()?;
/// for _ in 0..5 {
///     pool.submit(2).into_result()?;
/// }
/// pool.wait_idle(Duration::from_secs(10))?;
/// let run = &pool.metrics().lanes[0].run;
/// assert_eq!(run.count(), 5);
/// assert!(run.quantile(0.5) >= Duration::from_micros(1900));
/// assert!(run.sum() >= Duration::from_millis(10));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    sum: u64,
}

impl Histogram {
    pub(crate) fn add(&mut self, recording: &Recording) {
        let Some(cells) = recording.0.get() else { return };
        self.buckets.resize(BUCKETS, 0);
        for (sum, cell) in self.buckets.iter_mut().zip(&cells.buckets) {
            let n = cell.load(Ordering::Relaxed);
            *sum += n;
            self.count += n;
        }
        self.sum = self.sum.saturating_add(cells.sum.load(Ordering::Relaxed));
    }

    /// How many values were recorded.
    ///
    /// ```
    /// assert_eq!(dockhand::metrics::Histogram::default().count(), 0);
    /// ```
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of the values.
    ///
    /// ```
    /// assert!(dockhand::metrics::Histogram::default().sum().is_zero());
    /// ```
    pub fn sum(&self) -> Duration {
        Duration::from_nanos(self.sum)
    }

    /// The value below which a share of `q` of all values lies; zero if there is none. `q` is clamped to `[0, 1]`.
    ///
    /// ```
    /// assert!(dockhand::metrics::Histogram::default().quantile(0.99).is_zero());
    /// ```
    pub fn quantile(&self, q: f64) -> Duration {
        if self.count == 0 {
            return Duration::ZERO;
        }
        let q = if q.is_nan() { 1.0 } else { q.clamp(0.0, 1.0) };
        let rank = ((q * self.count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        let found = self.buckets.iter().position(|n| {
            seen += n;
            seen >= rank
        });
        Duration::from_nanos(middle(found.unwrap_or(BUCKETS - 1)))
    }

    /// Upper bounds in nanoseconds with the number of values up to each, one for each doubling. Not the last one: its
    /// bucket also takes what lies beyond.
    #[cfg(feature = "prometheus")]
    pub(crate) fn octaves(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let bounds = (0..OCTAVES).map(|octave| (SMALLEST << octave, octave * SUBS + 1));
        bounds.map(|(bound, buckets)| (bound, self.buckets.iter().take(buckets).sum()))
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count)
            .field("p50", &self.quantile(0.5))
            .field("p99", &self.quantile(0.99))
            .finish()
    }
}

#[cfg(all(test, not(any(dockhand_loom, dockhand_shuttle))))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one(nanos: u64) -> Histogram {
        let recording = Recording::default();
        recording.record_own(Duration::from_nanos(nanos));
        let mut histogram = Histogram::default();
        histogram.add(&recording);
        histogram
    }

    proptest! {
        #[test]
        fn a_value_between_a_microsecond_and_an_hour_is_off_by_five_percent_at_most(
            nanos in 1_024..3_600_000_000_000_u64
        ) {
            let seen = one(nanos).quantile(0.5).as_nanos() as f64;
            let off = (seen - nanos as f64).abs() / nanos as f64;
            prop_assert!(off <= 0.05, "{nanos} seen as {seen}");
        }

        #[test]
        fn any_value_has_a_bucket(nanos in any::<u64>()) {
            prop_assert_eq!(one(nanos).count(), 1);
        }
    }

    #[test]
    fn quantiles_are_those_of_the_values() {
        let recording = Recording::default();
        for millis in 1..=100 {
            recording.record_shared(Duration::from_millis(millis));
        }
        let mut histogram = Histogram::default();
        histogram.add(&recording);
        for (q, millis) in [(0.5, 50.0), (0.99, 99.0), (1.0, 100.0), (0.0, 1.0), (7.0, 100.0)] {
            let seen = histogram.quantile(q).as_secs_f64() * 1000.0;
            assert!((seen - millis).abs() / millis <= 0.05, "{q}: {seen}");
        }
        assert_eq!(histogram.sum(), Duration::from_millis(5050));
    }
}
