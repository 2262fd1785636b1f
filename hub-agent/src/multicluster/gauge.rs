//! How many Services are in force, computed at each scrape.

use fleet_accumulator::Object;
use fleet_model::multicluster::mode::Mode;
use fleet_model::objects::multicluster::ResolvedService;
use fleet_runtime::metrics::Gauges;
use prometheus::{IntGaugeVec, Opts};

use crate::Settings;
use crate::snapshot::HubSnapshot;

/// The states of a Service.
const STATES: [&str; 3] = ["in_force", "conflicting", "withdrawn"];

/// Number of Services that are exported by the standard API, by state; none where the agent does not serve it.
///
/// # Errors
/// If the name is not allowed, which only a change of this file can cause.
pub fn gauge(settings: &Settings, snapshot: &HubSnapshot) -> Gauges {
    if settings.multicluster == Mode::Off {
        return Ok(Vec::new());
    }
    let opts = Opts::new(
        "fleet_multicluster_resolved_services",
        "Number of Services that members export with a ServiceExport of multicluster.x-k8s.io, by state: in force, in force \
         with exports that differ, withdrawn a while ago.",
    );
    let gauge = IntGaugeVec::new(opts, &["state"])?;
    for state in STATES {
        gauge.with_label_values(&[state]).set(0);
    }
    for resolved in snapshot.resolved_services.iter() {
        gauge.with_label_values(&[state(resolved)]).inc();
    }
    Ok(vec![Box::new(gauge)])
}

fn state(resolved: &Object<ResolvedService>) -> &'static str {
    let [in_force, conflicting, withdrawn] = STATES;
    if resolved.is_withdrawn() {
        withdrawn
    } else if resolved.conflicts.is_empty() {
        in_force
    } else {
        conflicting
    }
}
