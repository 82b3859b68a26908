//! A page in the making: numbers as they were read, with their names.

use std::fmt::Error;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::{Metric, Registry, Unit};

use crate::tally::Spread;

/// Nanoseconds per second.
const NANOS: f64 = 1e9;

/// Collects the series of a page.
pub(super) struct Page<'a>(pub(super) &'a mut Registry);

/// Numbers under one name, distinguished by a label.
#[derive(Debug)]
struct Labelled<M>(&'static str, Vec<(&'static str, M)>);

impl<M: EncodeMetric + TypedMetric> EncodeMetric for Labelled<M> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), Error> {
        for (value, metric) in &self.1 {
            let labels = [(self.0, *value)];
            metric.encode(encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        M::TYPE
    }
}

/// A [`Spread`] as it was read.
#[derive(Debug)]
pub(super) struct Histogram {
    sum: f64,
    ranges: Vec<(f64, u64)>,
}

impl Histogram {
    /// Of times, in seconds.
    fn of_times(spread: &Spread) -> Histogram {
        Histogram::new(spread, NANOS)
    }

    /// Of anything else.
    fn of_sizes(spread: &Spread) -> Histogram {
        Histogram::new(spread, 1.0)
    }

    fn new(spread: &Spread, unit: f64) -> Histogram {
        let end = |end: Option<u64>| end.map_or(f64::INFINITY, |end| end as f64 / unit);
        let ranges = spread.ranges().map(|(it, count)| (end(it), count));
        Histogram {
            sum: spread.sum() as f64 / unit,
            ranges: ranges.collect(),
        }
    }
}

impl TypedMetric for Histogram {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for Histogram {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), Error> {
        let count = self.ranges.iter().map(|(_, count)| count).sum();
        encoder.encode_histogram::<NoLabelSet>(self.sum, count, &self.ranges, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

impl Page<'_> {
    /// Adds a metric. Its name ends with the unit, if it has one; a counter's name with `_total`, which is not given here.
    pub(super) fn metric(
        &mut self,
        name: &str,
        unit: Option<Unit>,
        help: &str,
        metric: impl Metric,
    ) {
        match unit {
            Some(unit) => self.0.register_with_unit(name, help, unit, metric),
            None => self.0.register(name, help, metric),
        }
    }

    /// Adds a count of events.
    pub(super) fn counter(&mut self, name: &str, help: &str, count: u64) {
        self.metric(name, None, help, ConstCounter::new(count));
    }

    /// Adds counts of several kinds of events.
    pub(super) fn counters<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        label: &'static str,
        counts: [(&'static str, u64); N],
    ) {
        let counts = counts.map(|(value, count)| (value, ConstCounter::new(count)));
        self.metric(name, None, help, Labelled(label, counts.into()));
    }

    /// Adds a current value.
    pub(super) fn gauge(&mut self, name: &str, unit: Option<Unit>, help: &str, now: u64) {
        self.metric(name, unit, help, ConstGauge::new(now));
    }

    /// Adds several current values.
    pub(super) fn gauges<const N: usize>(
        &mut self,
        name: &str,
        unit: Option<Unit>,
        help: &str,
        label: &'static str,
        now: [(&'static str, u64); N],
    ) {
        let now = now.map(|(value, now)| (value, ConstGauge::new(now)));
        self.metric(name, unit, help, Labelled(label, now.into()));
    }

    /// Adds how long something took.
    pub(super) fn times(&mut self, name: &str, help: &str, spread: &Spread) {
        let metric = Histogram::of_times(spread);
        self.metric(name, Some(Unit::Seconds), help, metric);
    }

    /// Adds how long each of several things took.
    pub(super) fn times_of<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        label: &'static str,
        spreads: [(&'static str, &Spread); N],
    ) {
        let metrics = spreads.map(|(value, spread)| (value, Histogram::of_times(spread)));
        let unit = Some(Unit::Seconds);
        self.metric(name, unit, help, Labelled(label, metrics.into()));
    }

    /// Adds how large something was.
    pub(super) fn sizes(&mut self, name: &str, help: &str, spread: &Spread) {
        self.metric(name, None, help, Histogram::of_sizes(spread));
    }
}
