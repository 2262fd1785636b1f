use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use fleet_accumulator::{Object, shared_name};
use fleet_api::names::{member_namespace, member_of_namespace};
use fleet_api::traffic::{ALL_SERVICES, MemberTrafficStatus, SilenceState};
use fleet_api::{Endpoint, ObjectName};
use fleet_model::objects::EndpointSliceExport;
use fleet_model::objects::traffic::MemberTraffic;
use fleet_traffic::Exporter;

use crate::snapshot::HubSnapshot;

/// What one exporter offers of a Service, as far as it runs in one member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceExporter {
    /// Name of the exporting member.
    pub member: Arc<str>,
    /// The member in which the endpoints run: that of their virtual node, or the exporter.
    pub runs_in: Arc<str>,
    /// The endpoints, and whether they may take over.
    pub exporter: Exporter,
}

impl ServiceExporter {
    /// Whether a drain of a member concerns the endpoints: they run there, or it exports them.
    pub fn concerns(&self, member: &str) -> bool {
        *self.member == *member || *self.runs_in == *member
    }
}

/// The Services of which ready endpoints that count run in a member, or are exported by it, by either API.
pub fn services_of(member: &str, snapshot: &HubSnapshot) -> BTreeSet<ObjectName> {
    let namespace = member_namespace(member);
    let is_concerned = |slice: &&Object<EndpointSliceExport>| {
        let mut ready = slice.spec.endpoints.iter();
        let exports = *slice.name.namespace == *namespace;
        ready.any(|endpoint| exports || executor(slice, endpoint, snapshot) == Some(member))
    };
    let slices = snapshot.slice_exports.iter().filter(is_concerned);
    let counts = |slice: &&Object<EndpointSliceExport>, service: &ObjectName| {
        let exporter = member_of_namespace(&slice.name.namespace);
        exporter.is_some_and(|exporter| accepted(service, snapshot).contains(exporter))
    };
    let mut services = BTreeSet::new();
    for slice in slices {
        let Some(service) = slice.spec.owner_service_reference.object() else { continue };
        if !services.contains(&service) && counts(&slice, &service) {
            services.insert(shared_name(&service));
        }
    }
    services
}

/// The members with endpoints of a Service that count, by name.
pub fn exporters_of(service: &ObjectName, snapshot: &HubSnapshot) -> Vec<ServiceExporter> {
    let offered = |((member, runs_in), ready): ((&str, &str), usize)| ServiceExporter {
        member: Arc::from(member),
        runs_in: Arc::from(runs_in),
        exporter: exporter([member, runs_in], ready, service, snapshot),
    };
    ready(service, snapshot).into_iter().map(offered).collect()
}

/// The first endpoints of the Service that a drain of a member does not concern and that take over; `None` if none do. Those of a member
/// from whose drain the Service is held back do not if that is about to end, as `stays_held` knows.
pub(super) fn successor(
    of: &str,
    service: &ObjectName,
    snapshot: &HubSnapshot,
    stays_held: impl Fn(&str) -> bool,
) -> Option<Exporter> {
    let stays = |member: &str| {
        held_back(member, service, snapshot).is_none_or(|forced| !forced && stays_held(member))
    };
    let others = exporters_of(service, snapshot).into_iter().filter(|one| !one.concerns(of));
    let mut others = others.filter(|one| one.exporter.can_take_over());
    let found = others.find(|one| stays(&one.member) && stays(&one.runs_in));
    found.map(|other| other.exporter)
}

/// If the Service is held back from the drain of a member, whether that drain is to be forced by now.
fn held_back(member: &str, service: &ObjectName, snapshot: &HubSnapshot) -> Option<bool> {
    let traffic = snapshot.member_traffics.get(&ObjectName::cluster(member))?;
    let drain = traffic.spec.drains.iter().find(|drain| drain.service == ALL_SERVICES)?;
    let name = format!("{}/{}", service.namespace, service.name);
    let is_held = drain.percent > 0 && traffic.status.held_services.contains(&name);
    is_held.then_some(drain.force)
}

/// Ready endpoints of the Service by exporter that counts, and by the member in which they run.
fn ready<'a>(
    service: &ObjectName,
    snapshot: &'a HubSnapshot,
) -> BTreeMap<(&'a str, &'a str), usize> {
    let accepted = accepted(service, snapshot);
    let mut ready: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for slice in snapshot.slice_exports.by(service) {
        let member = member_of_namespace(&slice.name.namespace);
        let Some(member) = member.filter(|member| accepted.contains(member)) else { continue };
        // An exporter without a ready endpoint is one all the same.
        ready.entry((member, member)).or_default();
        for endpoint in &slice.spec.endpoints {
            let runs_in = executor(slice, endpoint, snapshot).unwrap_or(member);
            *ready.entry((member, runs_in)).or_default() += 1;
        }
    }
    ready
}

/// The member that runs an endpoint, where its exporter has a virtual node of that member: an exporter can name any, and would hold back
/// the drains of others.
fn executor<'a>(
    slice: &Object<EndpointSliceExport>,
    endpoint: &'a Endpoint,
    snapshot: &HubSnapshot,
) -> Option<&'a str> {
    let executor = endpoint.executor.as_deref()?;
    let node = ObjectName::new(slice.name.namespace.clone(), executor);
    snapshot.virtual_nodes.get(&node).map(|_| executor)
}

/// What the endpoints are that two members answer for.
fn exporter(
    members: [&str; 2],
    ready: usize,
    service: &ObjectName,
    snapshot: &HubSnapshot,
) -> Exporter {
    let traffic = |member: &str| snapshot.member_traffics.get(&ObjectName::cluster(member));
    let any = |is: &dyn Fn(&MemberTraffic) -> bool| {
        members.into_iter().filter_map(traffic).any(|traffic| is(traffic))
    };
    Exporter {
        ready,
        draining: any(&|traffic| is_draining(traffic, service)),
        silent: any(&|traffic| is_silent(&traffic.status)),
    }
}

/// The members whose endpoints are part of the Service, by either API.
fn accepted<'a>(service: &ObjectName, snapshot: &'a HubSnapshot) -> HashSet<&'a str> {
    let import = snapshot.service_imports.get(service);
    let by_fleet = import.into_iter().flat_map(|import| &import.status.clusters);
    let by_fleet = by_fleet.map(|exporter| exporter.cluster.as_str());
    let standard = snapshot.resolved_services.by(service).flat_map(|it| &it.exporters);
    by_fleet.chain(standard.map(|exporter| exporter.cluster.as_str())).collect()
}

/// Whether a drain of the Service is asked for, and the Service is not held back from it.
fn is_draining(traffic: &MemberTraffic, service: &ObjectName) -> bool {
    let name = format!("{}/{}", service.namespace, service.name);
    let find = |name: &str| traffic.spec.drains.iter().find(|drain| drain.service == name);
    let (own, all) = (find(&name), find(ALL_SERVICES));
    let is_held = own.is_none() && traffic.status.held_services.contains(&name);
    own.or(all).is_some_and(|drain| drain.percent > 0) && !is_held
}

fn is_silent(status: &MemberTrafficStatus) -> bool {
    status.silence.as_ref().is_some_and(|silence| silence.state == SilenceState::Silent)
}
