//! An exposition, read by a parser that shares no code with the client that wrote it.

use dockhand::metrics::{Histogram, PoolMetrics};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use prometheus_parse::{HistogramCount, Labels, Scrape, Value};
use std::collections::HashMap;

/// What was exposed.
pub(crate) struct Exposition {
    pub(crate) text: String,
    pub(crate) scrape: Scrape,
}

impl Exposition {
    pub(crate) fn of(registry: &Registry) -> Self {
        let mut text = String::new();
        encode(&mut text, registry).unwrap();
        Exposition::read(text)
    }

    pub(crate) fn read(text: String) -> Self {
        assert!(text.ends_with("# EOF\n"));
        let scrape = Scrape::parse(text.lines().map(|line| Ok(line.to_string()))).unwrap();
        let read = scrape.samples.iter().map(|sample| match &sample.value {
            Value::Histogram(buckets) => buckets.len(),
            _ => 1,
        });
        let written = text.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(read.sum::<usize>(), written, "a line was not understood:\n{text}");
        Exposition { text, scrape }
    }

    fn find(&self, name: &str, labels: &[(&str, &str)]) -> &Value {
        let wanted: HashMap<_, _> =
            labels.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let is_wanted = |found: &Labels| **found == wanted;
        let mut found =
            self.scrape.samples.iter().filter(|sample| sample.metric == name && is_wanted(&sample.labels));
        let first = found.next().unwrap_or_else(|| panic!("no {name}{labels:?} in\n{}", self.text));
        assert!(found.next().is_none(), "{name}{labels:?} twice");
        &first.value
    }

    pub(crate) fn number(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        match self.find(name, labels) {
            Value::Counter(n) | Value::Gauge(n) | Value::Untyped(n) => *n,
            other => panic!("{name} is {other:?}"),
        }
    }

    pub(crate) fn buckets(&self, name: &str, labels: &[(&str, &str)]) -> &[HistogramCount] {
        match self.find(name, labels) {
            Value::Histogram(buckets) => buckets,
            other => panic!("{name} is {other:?}"),
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.scrape.samples.iter().any(|sample| sample.metric == name)
    }

    pub(crate) fn assert_shows(&self, metrics: &PoolMetrics) {
        for lane in &metrics.lanes {
            let (name, counts) = (lane.name.as_str(), &lane.counts);
            let answers = [
                ("accepted", counts.accepted),
                ("rejected", counts.rejected),
                ("caller_run", counts.caller_run),
                ("dropped", counts.dropped),
            ];
            for (answer, n) in answers {
                let labels = [("lane", name), ("answer", answer)];
                assert_eq!(self.number("dockhand_submits_total", &labels), n as f64, "{name}, {answer}");
            }
            let outcomes = [
                ("succeeded", counts.succeeded),
                ("dead_lettered", counts.dead_lettered),
                ("cancelled", counts.cancelled),
                ("expired", counts.expired),
                ("evicted", counts.evicted),
                ("abandoned", counts.abandoned),
            ];
            for (outcome, n) in outcomes {
                let labels = [("lane", name), ("outcome", outcome)];
                assert_eq!(self.number("dockhand_tasks_total", &labels), n as f64, "{name}, {outcome}");
            }
            let numbers = [
                ("attempts_total", counts.attempts),
                ("retries_total", counts.retries),
                ("panics_total", counts.panics),
                ("timeouts_total", counts.timeouts),
                ("queue_length", counts.queued),
                ("queue_capacity", lane.queue_capacity as u64),
                ("delayed", counts.delayed),
                ("delay_capacity", lane.delay_capacity as u64),
                ("running", counts.running),
            ];
            for (what, n) in numbers {
                let exposed = self.number(&format!("dockhand_{what}"), &[("lane", name)]);
                assert_eq!(exposed, n as f64, "{name}, {what}");
            }
            self.assert_shows_times("dockhand_queue_wait_seconds", name, &lane.wait);
            self.assert_shows_times("dockhand_run_seconds", name, &lane.run);
            self.assert_shows_times("dockhand_caller_run_seconds", name, &lane.caller_run);
        }
        assert_eq!(self.number("dockhand_letters", &[]), metrics.letters as f64);
        assert_eq!(self.number("dockhand_letters_evicted_total", &[]), metrics.letters_evicted as f64);
        assert_eq!(self.number("dockhand_hook_panics_total", &[]), metrics.hook_panics as f64);
    }

    fn assert_shows_times(&self, family: &str, lane: &str, times: &Histogram) {
        let labels = [("lane", lane)];
        let (count, sum) = (times.count() as f64, times.sum().as_secs_f64());
        assert_eq!(self.number(&format!("{family}_count"), &labels), count, "{family} of {lane}");
        assert_eq!(self.number(&format!("{family}_sum"), &labels), sum, "{family} of {lane}");
        let buckets = self.buckets(family, &labels);
        assert_is_histogram(buckets, count);
        // The buckets and the quantiles tell of the same values: each is in the bucket that holds its rank.
        for q in [0.1, 0.5, 0.9, 1.0].into_iter().filter(|_| count > 0.0) {
            let rank = (q * count).ceil();
            let holds_it = buckets.iter().position(|bucket| bucket.count >= rank).unwrap();
            let value = times.quantile(q).as_secs_f64();
            let least = holds_it.checked_sub(1).map_or(0.0, |before| buckets[before].less_than);
            assert!(
                (least..=buckets[holds_it].less_than).contains(&value),
                "{q} of {family} of {lane}: {value}"
            );
        }
    }
}

pub(crate) fn assert_is_histogram(buckets: &[HistogramCount], count: f64) {
    assert!(buckets.is_sorted_by(|a, b| a.less_than < b.less_than), "{buckets:?}");
    assert!(buckets.is_sorted_by(|a, b| a.count <= b.count), "{buckets:?}");
    let last = buckets.last().unwrap();
    assert_eq!((last.less_than, last.count), (f64::INFINITY, count), "{buckets:?}");
}
