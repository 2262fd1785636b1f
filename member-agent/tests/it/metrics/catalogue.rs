//! All metrics that are registered somewhere, whether or not they have values; for their reference.

use std::any::Any;
use std::cell::RefCell;

use fleet_accumulator::Register;
use prometheus::HistogramVec;
use prometheus::core::{Collector, Desc};
use prometheus::proto::{Bucket, Metric, MetricFamily, MetricType};

/// What is known of one metric.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    /// Its name.
    pub(crate) name: String,
    /// `counter`, `gauge` or `histogram`.
    pub(crate) kind: &'static str,
    /// Its labels, constant ones first.
    pub(crate) labels: Vec<String>,
    /// Upper bounds of a histogram's buckets.
    pub(crate) buckets: Vec<f64>,
    /// Its help text.
    pub(crate) help: String,
}

/// Takes collectors as a registry does, and notes what they are.
#[derive(Debug, Default)]
pub(crate) struct Catalogue(RefCell<Vec<Entry>>);

impl Catalogue {
    /// All metrics by name.
    pub(crate) fn entries(self) -> Vec<Entry> {
        let mut entries = self.0.into_inner();
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        entries
    }
}

impl Register for Catalogue {
    fn add(&self, collector: impl Collector + 'static) -> prometheus::Result<()> {
        let any: &dyn Any = &collector;
        if let Some(histogram) = any.downcast_ref::<HistogramVec>() {
            // Only a series shows the buckets.
            let count = histogram.desc().iter().map(|desc| desc.variable_labels.len()).sum();
            histogram.get_metric_with_label_values(&vec!["any"; count])?;
        }
        let families = collector.collect();
        for desc in collector.desc() {
            let mut entries = self.0.borrow_mut();
            if entries.iter().any(|entry| entry.name == desc.fq_name) {
                return Err(prometheus::Error::AlreadyReg);
            }
            let family = families.iter().find(|family| family.name() == desc.fq_name);
            entries.push(entry(desc, family));
        }
        Ok(())
    }
}

fn entry(desc: &Desc, family: Option<&MetricFamily>) -> Entry {
    let constant = desc.const_label_pairs.iter().map(|pair| pair.name().to_owned());
    let labels = constant.chain(desc.variable_labels.iter().cloned()).collect();
    let kind = match family.map(MetricFamily::get_field_type) {
        Some(MetricType::COUNTER) => "counter",
        Some(MetricType::GAUGE) => "gauge",
        Some(MetricType::HISTOGRAM) => "histogram",
        _ => "unknown",
    };
    let series = family.and_then(|family| family.get_metric().first());
    let histogram = series.map(Metric::get_histogram);
    let buckets = histogram.iter().flat_map(|histogram| histogram.get_bucket());
    let buckets = buckets.map(Bucket::upper_bound).collect();
    Entry { name: desc.fq_name.clone(), kind, labels, buckets, help: desc.help.clone() }
}
