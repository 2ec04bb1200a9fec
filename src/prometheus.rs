//! The numbers of a pool for Prometheus, by the conventions of its official client.

use crate::config::Timing;
use crate::histogram::Histogram;
use crate::metrics::{Counts, LaneMetrics, PoolMetrics};
use crate::pool::WorkerPool;
use crate::processor::Processor;
use crate::shared::Shared;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

impl<P: Processor> WorkerPool<P> {
    /// Exposes the pool's numbers to a registry of the `prometheus-client` crate. Only with the feature `prometheus`.
    ///
    /// | family | labels | what |
    /// | --- | --- | --- |
    /// | `dockhand_submits_total` | `lane`, `answer` | offers, by answer: `accepted`, `rejected`, `caller_run`, `dropped` |
    /// | `dockhand_tasks_total` | `lane`, `outcome` | tasks that ended: `succeeded`, `dead_lettered`, `cancelled`, `expired`, `evicted`, `abandoned` |
    /// | `dockhand_attempts_total`, `dockhand_retries_total` | `lane` | attempts that were started, retries that were scheduled |
    /// | `dockhand_panics_total`, `dockhand_timeouts_total` | `lane` | attempts that panicked, or came back with `Ok` after their timeout |
    /// | `dockhand_queue_length`, `dockhand_queue_capacity` | `lane` | tasks that wait in the queue, and how many may |
    /// | `dockhand_delayed`, `dockhand_delay_capacity` | `lane` | tasks that wait for their time, and how many may |
    /// | `dockhand_running` | `lane` | attempts that run |
    /// | `dockhand_permits_in_use`, `dockhand_permits_limit` | `lane` | of lanes with a limit only |
    /// | `dockhand_queue_wait_seconds` | `lane` | histogram of the wait for the first attempt |
    /// | `dockhand_run_seconds`, `dockhand_caller_run_seconds` | `lane` | histograms of how long attempts took, on workers and in caller-runs |
    /// | `dockhand_oldest_queued_seconds` | `lane` | age of the oldest queued task, 0 if none waits; only with [`Timing::Full`] |
    /// | `dockhand_workers` | `state` | threads that are `busy`, `searching` or `sleeping` |
    /// | `dockhand_letters`, `dockhand_letters_evicted_total` | | letters in the store, and those that had to leave it |
    /// | `dockhand_hook_panics_total` | | panics outside of attempts |
    ///
    /// Times are in seconds; the buckets of a histogram double from 1.024 µs to 36 minutes. Histograms hold the tasks that were
    /// timed: with [`Timing::Sampled`] a share, whose `_count` is not the number of attempts; with [`Timing::Off`] there are
    /// none.
    ///
    /// A scrape costs what [`metrics`](WorkerPool::metrics) costs. The collector holds the pool's numbers and memory, not the
    /// pool: no thread stays for it, and after the drop of the pool it exposes the last numbers. The names have no place for a
    /// second pool: give each a registry, or a prefix (`Registry::sub_registry_with_prefix`).
    ///
    /// ```
    /// use dockhand::{WorkerPool, processor_fn};
    /// use prometheus_client::encoding::text::encode;
    /// use prometheus_client::registry::Registry;
    /// use std::time::Duration;
    ///
    /// let pool = WorkerPool::builder(processor_fn(|_: &mut u32, _cx| Ok::<(), String>(()))).build()?;
    /// let mut registry = Registry::default();
    /// registry.register_collector(Box::new(pool.collector()));
    /// pool.submit(1).into_result()?;
    /// pool.wait_idle(Duration::from_secs(10))?;
    ///
    /// let mut text = String::new();
    /// encode(&mut text, &registry)?;
    /// assert!(text.contains(r#"dockhand_tasks_total{lane="default",outcome="succeeded"} 1"#));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn collector(&self) -> impl Collector + use<P> {
        PoolCollector { shared: Arc::clone(self.shared()) }
    }
}

struct PoolCollector<P: Processor> {
    shared: Arc<Shared<P>>,
}

impl<P: Processor> Collector for PoolCollector<P> {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let metrics = self.shared.metrics();
        let mut exposition = Exposition { encoder };
        exposition.write_counters(&metrics.lanes)?;
        exposition.write_gauges(&metrics.lanes)?;
        if self.shared.timing.is_on() {
            exposition.write_histograms(&metrics.lanes)?;
        }
        if self.shared.timing == Timing::Full {
            exposition.write_ages(&metrics.lanes)?;
        }
        exposition.write_pool(&metrics)
    }
}

impl<P: Processor> fmt::Debug for PoolCollector<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolCollector").finish_non_exhaustive()
    }
}

type Count = fn(&Counts) -> u64;
type CountOf = (&'static str, Count);
/// A name, its help, a label, and what is counted for each of its values.
type Labelled = (&'static str, &'static str, &'static str, &'static [CountOf]);

/// Counters of a lane that differ in one label.
const COUNTERS: [Labelled; 2] = [
    (
        "dockhand_submits",
        "Offers of tasks, by answer.",
        "answer",
        &[
            ("accepted", |counts| counts.accepted),
            ("rejected", |counts| counts.rejected),
            ("caller_run", |counts| counts.caller_run),
            ("dropped", |counts| counts.dropped),
        ],
    ),
    (
        "dockhand_tasks",
        "Tasks that have ended, by outcome.",
        "outcome",
        &[
            ("succeeded", |counts| counts.succeeded),
            ("dead_lettered", |counts| counts.dead_lettered),
            ("cancelled", |counts| counts.cancelled),
            ("expired", |counts| counts.expired),
            ("evicted", |counts| counts.evicted),
            ("abandoned", |counts| counts.abandoned),
        ],
    ),
];

const LANE_COUNTERS: [(&str, &str, Count); 4] = [
    ("dockhand_attempts", "Attempts that were started.", |counts| counts.attempts),
    ("dockhand_retries", "Retries that were scheduled.", |counts| counts.retries),
    ("dockhand_panics", "Attempts that panicked.", |counts| counts.panics),
    ("dockhand_timeouts", "Attempts that succeeded after their timeout.", |counts| counts.timeouts),
];

type Gauge = fn(&LaneMetrics) -> Option<u64>;

/// Gauges of a lane; `None` for a lane that has no such thing.
const LANE_GAUGES: [(&str, &str, Gauge); 7] = [
    ("dockhand_queue_length", "Tasks that wait in the queue.", |lane| Some(lane.counts.queued)),
    ("dockhand_queue_capacity", "Tasks that may wait in the queue.", |lane| Some(lane.queue_capacity as u64)),
    ("dockhand_delayed", "Tasks that wait for their time.", |lane| Some(lane.counts.delayed)),
    ("dockhand_delay_capacity", "Tasks that may wait for their time.", |lane| {
        Some(lane.delay_capacity as u64)
    }),
    ("dockhand_running", "Attempts that run.", |lane| Some(lane.counts.running)),
    ("dockhand_permits_in_use", "Attempts that count against the limit.", |lane| {
        limit(lane).map(|_| lane.permits_in_use as u64)
    }),
    ("dockhand_permits_limit", "Attempts that may run at a time.", limit),
];

fn limit(lane: &LaneMetrics) -> Option<u64> {
    (lane.max_concurrency != usize::MAX).then_some(lane.max_concurrency as u64)
}

type Times = fn(&LaneMetrics) -> &Histogram;

const HISTOGRAMS: [(&str, &str, Times); 3] = [
    ("dockhand_queue_wait", "Wait of timed tasks for their first attempt.", |lane| &lane.wait),
    ("dockhand_run", "Run time of timed attempts on workers.", |lane| &lane.run),
    ("dockhand_caller_run", "Run time of timed attempts on submitting threads.", |lane| &lane.caller_run),
];

/// One scrape.
struct Exposition<'e> {
    encoder: DescriptorEncoder<'e>,
}

impl Exposition<'_> {
    fn write_counters(&mut self, lanes: &[LaneMetrics]) -> fmt::Result {
        for (name, help, label, series) in COUNTERS {
            let mut family = self.encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for lane in lanes {
                for (value, count) in series {
                    let labels = [("lane", lane.name.as_str()), (label, value)];
                    let count = count(&lane.counts);
                    family.encode_family(&labels)?.encode_counter::<NoLabelSet, u64, u64>(&count, None)?;
                }
            }
        }
        for (name, help, count) in LANE_COUNTERS {
            let mut family = self.encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for lane in lanes {
                let (labels, count) = (of_lane(lane), count(&lane.counts));
                family.encode_family(&labels)?.encode_counter::<NoLabelSet, u64, u64>(&count, None)?;
            }
        }
        Ok(())
    }

    fn write_gauges(&mut self, lanes: &[LaneMetrics]) -> fmt::Result {
        for (name, help, value) in LANE_GAUGES {
            let values = lanes.iter().filter_map(|lane| Some((of_lane(lane), value(lane)?)));
            self.write_gauge(name, help, None, values)?;
        }
        Ok(())
    }

    fn write_gauge<'l>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<&Unit>,
        values: impl Iterator<Item = ([(&'static str, &'l str); 1], impl EncodeGaugeValue)>,
    ) -> fmt::Result {
        let mut family = self.encoder.encode_descriptor(name, help, unit, MetricType::Gauge)?;
        for (labels, value) in values {
            family.encode_family(&labels)?.encode_gauge(&value)?;
        }
        Ok(())
    }

    fn write_histograms(&mut self, lanes: &[LaneMetrics]) -> fmt::Result {
        let unit = Some(&Unit::Seconds);
        for (name, help, times) in HISTOGRAMS {
            let mut family = self.encoder.encode_descriptor(name, help, unit, MetricType::Histogram)?;
            for lane in lanes {
                let (labels, times) = (of_lane(lane), times(lane));
                let (sum, buckets) = (times.sum().as_secs_f64(), buckets(times));
                let mut series = family.encode_family(&labels)?;
                series.encode_histogram::<NoLabelSet>(sum, times.count(), &buckets, None)?;
            }
        }
        Ok(())
    }

    fn write_ages(&mut self, lanes: &[LaneMetrics]) -> fmt::Result {
        let ages = lanes.iter().map(|lane| (of_lane(lane), lane.oldest.unwrap_or_default().as_secs_f64()));
        self.write_gauge(
            "dockhand_oldest_queued",
            "Age of the oldest queued task.",
            Some(&Unit::Seconds),
            ages,
        )
    }

    fn write_pool(&mut self, metrics: &PoolMetrics) -> fmt::Result {
        let (live, busy) = (metrics.live_workers, metrics.busy_workers);
        let searching = live.saturating_sub(busy).saturating_sub(metrics.sleeping_workers);
        let states = [("busy", busy), ("searching", searching), ("sleeping", metrics.sleeping_workers)];
        let states = states.into_iter().map(|(state, workers)| ([("state", state)], workers as u64));
        self.write_gauge("dockhand_workers", "Worker threads, by what they do.", None, states)?;

        let mut letters = self.encoder.encode_descriptor(
            "dockhand_letters",
            "Letters in the store.",
            None,
            MetricType::Gauge,
        )?;
        letters.encode_gauge(&(metrics.letters as u64))?;
        let totals = [
            ("dockhand_letters_evicted", "Letters that had to leave a full store.", metrics.letters_evicted),
            ("dockhand_hook_panics", "Panics that were caught outside of attempts.", metrics.hook_panics),
        ];
        for (name, help, total) in totals {
            let mut family = self.encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            family.encode_counter::<NoLabelSet, u64, u64>(&total, None)?;
        }
        Ok(())
    }
}

fn of_lane(lane: &LaneMetrics) -> [(&'static str, &str); 1] {
    [("lane", lane.name.as_str())]
}

/// Upper bounds in seconds with the number of values in each bucket, which the encoder adds up.
fn buckets(times: &Histogram) -> Vec<(f64, u64)> {
    let mut below = 0;
    let bounded = times.octaves().map(|(bound, up_to)| {
        let inside = up_to - below;
        below = up_to;
        (Duration::from_nanos(bound).as_secs_f64(), inside)
    });
    let mut buckets: Vec<_> = bounded.collect();
    buckets.push((f64::INFINITY, times.count() - below));
    buckets
}
