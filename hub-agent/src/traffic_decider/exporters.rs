use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use fleet_accumulator::shared_name;
use fleet_api::ObjectName;
use fleet_api::names::{member_namespace, member_of_namespace};
use fleet_api::traffic::{ALL_SERVICES, MemberTrafficStatus, SilenceState};
use fleet_model::objects::traffic::MemberTraffic;
use fleet_traffic::Exporter;

use crate::snapshot::HubSnapshot;

/// A member that exports a Service, and what it offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceExporter {
    /// Name of the member.
    pub member: Arc<str>,
    /// Its endpoints, and whether it may take over.
    pub exporter: Exporter,
}

/// The Services of which a member has ready endpoints that count, by either API.
pub fn services_of(member: &str, snapshot: &HubSnapshot) -> BTreeSet<ObjectName> {
    let slices = snapshot.slice_exports.in_namespace(&member_namespace(member));
    let ready = slices.filter(|slice| !slice.spec.endpoints.is_empty());
    let services = ready.filter_map(|slice| slice.spec.owner_service_reference.object());
    let services: BTreeSet<_> = services.map(|service| shared_name(&service)).collect();
    services.into_iter().filter(|service| accepted(service, snapshot).contains(member)).collect()
}

/// The members with endpoints of a Service that count, by name.
pub fn exporters_of(service: &ObjectName, snapshot: &HubSnapshot) -> Vec<ServiceExporter> {
    let exporter = |(member, ready)| ServiceExporter {
        member: Arc::from(member),
        exporter: exporter(member, ready, service, snapshot),
    };
    ready(service, snapshot).into_iter().map(exporter).collect()
}

/// The first other member that takes over for one of the Service's exporters; `None` if none does. A member from whose drain the
/// Service is held back does not if that is about to end, as `stays_held` knows.
pub(super) fn successor(
    of: &str,
    service: &ObjectName,
    snapshot: &HubSnapshot,
    stays_held: impl Fn(&str) -> bool,
) -> Option<Exporter> {
    let others = ready(service, snapshot).into_iter().filter(|(member, _)| *member != of);
    let stays = |member: &str| !is_held_back(member, service, snapshot) || stays_held(member);
    let mut others = others.map(|(member, ready)| {
        let exporter = exporter(member, ready, service, snapshot);
        (member, exporter)
    });
    let found = others.find(|(member, other)| other.can_take_over() && stays(member));
    found.map(|(_, other)| other)
}

fn is_held_back(member: &str, service: &ObjectName, snapshot: &HubSnapshot) -> bool {
    let traffic = snapshot.member_traffics.get(&ObjectName::cluster(member));
    traffic.is_some_and(|traffic| {
        let drain = traffic.spec.drains.iter().find(|drain| drain.service == ALL_SERVICES);
        let name = format!("{}/{}", service.namespace, service.name);
        drain.is_some_and(|drain| drain.percent > 0) && traffic.status.held_services.contains(&name)
    })
}

/// Ready endpoints of the Service by exporter that counts.
fn ready<'a>(service: &ObjectName, snapshot: &'a HubSnapshot) -> BTreeMap<&'a str, usize> {
    let accepted = accepted(service, snapshot);
    let mut ready: BTreeMap<&str, usize> = BTreeMap::new();
    for slice in snapshot.slice_exports.by(service) {
        let member = member_of_namespace(&slice.name.namespace);
        let Some(member) = member.filter(|member| accepted.contains(member)) else { continue };
        *ready.entry(member).or_default() += slice.spec.endpoints.len();
    }
    ready
}

fn exporter(member: &str, ready: usize, service: &ObjectName, snapshot: &HubSnapshot) -> Exporter {
    let traffic = snapshot.member_traffics.get(&ObjectName::cluster(member));
    Exporter {
        ready,
        draining: traffic.is_some_and(|traffic| is_draining(traffic, service)),
        silent: traffic.is_some_and(|traffic| is_silent(&traffic.status)),
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
