//! The controller that makes EndpointSlices of ExternalWorkloads: machines outside of Kubernetes become
//! endpoints of the Services that select them, and are exported to the fleet like any others.
//!
//! It reads and writes the own cluster only, and leaves Services to Linkerd's own controller where that one runs.

mod keys;
mod linkerd;
mod source;

#[cfg(test)]
mod tests;

use fleet_accumulator::{Object, Snapshot as _, SourceSet};
use fleet_api::labels::MANAGED_BY_EXTERNAL_WORKLOADS;
use fleet_api::{ObjectName, events};
use fleet_endpointslice::{Config, Input, reconcile};
use fleet_model::cidr::Cidrs;
use fleet_model::namespaces::namespace_accepts_objects;
use fleet_model::objects::{ExternalWorkload, ManagedSlice, Service};
use fleet_model::selection;
use fleet_model::steps::LOCAL;
use fleet_plan::{Affected, Controller, Event};
use jiff::Timestamp;

use crate::measurement::{Measurement, Plan};
use crate::slicing;
use crate::snapshot::MemberSnapshot;
pub use linkerd::{LEASE, is_active as linkerd_is_active};
use source::{Machines, Unusable};

/// Name of the controller, and of its stage in the metrics.
const NAME: &str = "external_workloads";
/// Name of the queue of Linkerd's controller, in its metrics.
pub const QUEUE: &str = "endpoints_controller_workqueue";

/// Makes the slices of external workloads.
#[derive(Debug, Default)]
pub struct ExternalWorkloadController {
    /// Ranges that the addresses of machines are in; any if there is none.
    pub cidrs: Cidrs,
}

impl Controller for ExternalWorkloadController {
    type Snapshot = MemberSnapshot;
    /// A Service.
    type Key = ObjectName;
    type Measurement = Measurement;

    fn name(&self) -> &'static str {
        NAME
    }

    /// The own cluster alone.
    fn required(&self) -> SourceSet {
        SourceSet::from([
            MemberSnapshot::services(),
            MemberSnapshot::endpoint_slices(),
            MemberSnapshot::namespaces(),
            MemberSnapshot::managed_slices(),
            MemberSnapshot::external_workloads(),
            MemberSnapshot::linkerd_leases(),
        ])
    }

    fn affected_keys(
        &self,
        old: &MemberSnapshot,
        new: &MemberSnapshot,
        keys: &mut Affected<ObjectName>,
    ) {
        keys::affected(old, new, keys);
    }

    fn plan(&self, key: &ObjectName, snapshot: &MemberSnapshot, _: Timestamp) -> Plan {
        plan(&self.cidrs, key, snapshot)
    }

    fn blocked(&self, snapshot: &MemberSnapshot, reason: &str) -> Vec<Event> {
        snapshot.external_workloads.iter().map(|one| LOCAL.blocked(one, reason)).collect()
    }
}

/// The writes that bring the slices of one Service up to date.
///
/// Without a live watch of Services and ExternalWorkloads nothing is planned. Once both are live again, all keys
/// are affected.
pub fn plan(cidrs: &Cidrs, service: &ObjectName, snapshot: &MemberSnapshot) -> Plan {
    let mut plan = Plan::default();
    let followed = [MemberSnapshot::services(), MemberSnapshot::external_workloads()];
    let is_followed = followed.into_iter().all(|source| snapshot.state(source).is_live());
    if !is_followed || slicing::is_behind(snapshot, MANAGED_BY_EXTERNAL_WORKLOADS, service) {
        return plan;
    }
    let ours = slicing::managed(snapshot, MANAGED_BY_EXTERNAL_WORKLOADS, service);
    match snapshot.services.get(service).filter(|service| slicing::is_served(service)) {
        // Unlike the original, which leaves slices behind that no controller maintains.
        None => slicing::delete_all(&ours, &mut plan),
        Some(service) => sync(cidrs, snapshot, service, &ours, &mut plan),
    }
    plan
}

fn sync(
    cidrs: &Cidrs,
    snapshot: &MemberSnapshot,
    service: &Object<Service>,
    ours: &[&Object<ManagedSlice>],
    plan: &mut Plan,
) {
    let namespace = &service.name.namespace;
    let workloads: Vec<_> =
        selection::selected(&snapshot.external_workloads, namespace, &service.selector).collect();
    plan.events.extend(workloads.iter().flat_map(|workload| ignored(cidrs, workload)));
    let theirs = linkerd::has_slices(snapshot, &service.name);
    if (theirs || linkerd::is_active(snapshot)) && !workloads.is_empty() {
        plan.events.push(left_to_linkerd(service));
    }
    if theirs {
        slicing::delete_all(ours, plan);
        return;
    }
    let existing: Vec<_> =
        ours.iter().filter(|slice| !slice.is_terminating()).map(|one| &one.slice).collect();
    let input = Input {
        service: &slicing::service(service),
        source: &Machines::of(cidrs, &workloads),
        existing: &existing,
        trigger_time: None,
        topology: None,
        config: &config(),
    };
    // Until Linkerd's slices exist, those of this agent stay up to date, so that no endpoint is missing in between.
    let creates =
        !linkerd::is_active(snapshot) && namespace_accepts_objects(&snapshot.namespaces, namespace);
    slicing::write(snapshot, service, reconcile(&input), creates, NAME, plan);
}

fn config() -> Config {
    let (manager, name_prefix) = (MANAGED_BY_EXTERNAL_WORKLOADS.to_owned(), "external-");
    Config { manager, name_prefix, ..Config::external_workloads() }
}

fn left_to_linkerd(service: &Object<Service>) -> Event {
    let note = "Linkerd's controller makes the EndpointSlices of its external workloads: it holds the \
        Lease linkerd-destination-endpoint-write or has slices for the Service; if Linkerd is uninstalled, \
        delete both";
    LOCAL.warning(service, events::LEFT_TO_LINKERD, note)
}

/// The Events about addresses that are skipped: such as no endpoint can have, and such as are outside of the ranges.
fn ignored(cidrs: &Cidrs, workload: &Object<ExternalWorkload>) -> Vec<Event> {
    let skipped = |why| {
        let is_skipped = |ip: &&str| source::usable(cidrs, ip) == Err(why);
        let ips: Vec<_> = workload.ips.iter().map(String::as_str).filter(is_skipped).collect();
        (!ips.is_empty()).then(|| ips.join(", "))
    };
    let invalid = skipped(Unusable::Invalid)
        .map(|ips| format!("skipped addresses that an endpoint cannot have: {ips}"));
    let outside = skipped(Unusable::Outside).map(|ips| {
        format!("skipped addresses outside of --external-workload-cidrs ({cidrs}): {ips}")
    });
    let notes = invalid.into_iter().chain(outside);
    notes.map(|note| LOCAL.warning(workload, events::ADDRESS_IGNORED, note)).collect()
}
