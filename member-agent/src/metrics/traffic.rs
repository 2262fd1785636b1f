//! Gauges of what directs traffic, from what the agent remembers of its plans.

use std::collections::BTreeMap;

use fleet_runtime::metrics::Gauges;
use prometheus::{IntGaugeVec, Opts};

/// Imports, by what serves them and by why a policy is not in force as it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrafficCounts {
    /// By which endpoints get new connections.
    pub served: BTreeMap<&'static str, usize>,
    /// By the reason.
    pub limited: BTreeMap<&'static str, usize>,
}

/// How many imports are served by which endpoints.
///
/// # Errors
/// If a name or a label is not allowed, which only a change of this file can cause.
pub fn traffic(counts: &TrafficCounts) -> Gauges {
    let served = IntGaugeVec::new(
        Opts::new(
            "fleet_networking_traffic_imports",
            "Imported Services, by the endpoints that get new connections.",
        ),
        &["served_by"],
    )?;
    let limited = IntGaugeVec::new(
        Opts::new(
            "fleet_networking_traffic_held",
            "Imported Services whose traffic policy is not in force as it stands, members with a drain that the hub lacks, exporters that have not come back to it, and 1 while imports are kept because the hub is another one, by reason.",
        ),
        &["reason"],
    )?;
    for (gauges, counts) in [(&served, &counts.served), (&limited, &counts.limited)] {
        for (label, count) in counts {
            let count = i64::try_from(*count).unwrap_or(i64::MAX);
            gauges.with_label_values(&[*label]).set(count);
        }
    }
    Ok(vec![Box::new(served), Box::new(limited)])
}
