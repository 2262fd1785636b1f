use std::collections::{BTreeMap, BTreeSet};

use fleet_accumulator::{Object, shared_name};
use fleet_api::names::{member_namespace, member_of_namespace};
use fleet_api::traffic::{ALL_SERVICES, MemberTrafficStatus, SilenceState};
use fleet_api::{Endpoint, ObjectName, annotations};
use fleet_model::objects::EndpointSliceExport;
use fleet_model::objects::traffic::MemberTraffic;
use fleet_model::weight;
use fleet_traffic::Exporter;

use super::lanes::{Accepted, Lane};
use crate::snapshot::HubSnapshot;

/// What one exporter offers of a Service, as far as it runs in one member and clients use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceExporter<'a> {
    /// Name of the exporting member.
    pub member: &'a str,
    /// The member in which the endpoints run: that of their virtual node, or the exporter.
    pub runs_in: &'a str,
    /// The endpoints, and whether they may take over.
    pub exporter: Exporter,
    /// What clients use of them.
    pub lanes: BTreeSet<Lane<'a>>,
}

impl ServiceExporter<'_> {
    /// Whether a drain of a member concerns the endpoints: they run there, or it exports them.
    pub fn concerns(&self, member: &str) -> bool {
        self.member == member || self.runs_in == member
    }
}

/// The Services of which clients use ready endpoints that run in a member, or are exported by it, by either API.
pub fn services_of(member: &str, snapshot: &HubSnapshot) -> BTreeSet<ObjectName> {
    let namespace = member_namespace(member);
    let may_be_concerned = |slice: &&Object<EndpointSliceExport>| {
        let mut ready = slice.spec.endpoints.iter();
        let exports = *slice.name.namespace == *namespace;
        ready.any(|endpoint| exports || executor(slice, endpoint, snapshot) == Some(member))
    };
    let slices = snapshot.slice_exports.iter().filter(may_be_concerned);
    let services = slices.filter_map(|slice| slice.spec.owner_service_reference.object());
    let services: BTreeSet<_> = services.collect();
    let services = services.iter().filter(|service| is_concerned(member, service, snapshot));
    services.map(shared_name).collect()
}

/// Whether clients use ready endpoints of the Service that a drain of a member concerns.
pub(super) fn is_concerned(member: &str, service: &ObjectName, snapshot: &HubSnapshot) -> bool {
    exporters_of(service, snapshot).iter().any(|one| one.concerns(member))
}

/// The members with ready endpoints of a Service that clients use, by name.
pub fn exporters_of<'a>(
    service: &ObjectName,
    snapshot: &'a HubSnapshot,
) -> Vec<ServiceExporter<'a>> {
    let offered = |((member, runs_in), offer): ((&'a str, &'a str), Offer<'a>)| ServiceExporter {
        member,
        runs_in,
        exporter: exporter([member, runs_in], offer.ready, service, snapshot),
        lanes: offer.lanes,
    };
    offers(service, snapshot).into_iter().map(offered).collect()
}

/// Something that clients use of the endpoints that a drain of a member concerns, and have of no others that take over; `None` if
/// there is nothing.
pub fn unserved<'a>(
    member: &str,
    offered: &[ServiceExporter<'a>],
    takes_over: impl Fn(&ServiceExporter<'a>) -> bool,
) -> Option<Lane<'a>> {
    let concerned = offered.iter().filter(|one| one.concerns(member));
    let others = offered.iter().filter(|one| !one.concerns(member));
    let others = others.filter(|one| one.exporter.can_take_over() && takes_over(one));
    let served: BTreeSet<_> = others.flat_map(|one| &one.lanes).collect();
    concerned.flat_map(|one| &one.lanes).find(|lane| !served.contains(lane)).copied()
}

/// Whether others serve all that clients use of the endpoints of the Service that a drain of a member concerns. Those of a member from
/// whose drain the Service is held back do not if that is about to end, as `stays_held` knows.
pub(super) fn is_served(
    of: &str,
    service: &ObjectName,
    snapshot: &HubSnapshot,
    stays_held: impl Fn(&str) -> bool,
) -> bool {
    let stays = |member: &str| {
        held_back(member, service, snapshot).is_none_or(|forced| !forced && stays_held(member))
    };
    let takes_over = |one: &ServiceExporter<'_>| stays(one.member) && stays(one.runs_in);
    unserved(of, &exporters_of(service, snapshot), takes_over).is_none()
}

/// If the Service is held back from the drain of a member, whether that drain is to be forced by now.
fn held_back(member: &str, service: &ObjectName, snapshot: &HubSnapshot) -> Option<bool> {
    let traffic = snapshot.member_traffics.get(&ObjectName::cluster(member))?;
    let drain = traffic.spec.drains.iter().find(|drain| drain.service == ALL_SERVICES)?;
    let name = format!("{}/{}", service.namespace, service.name);
    let is_held = drain.percent > 0 && traffic.status.held_services.contains(&name);
    is_held.then_some(drain.force)
}

/// Ready endpoints, and what clients use of them.
#[derive(Default)]
struct Offer<'a> {
    ready: usize,
    lanes: BTreeSet<Lane<'a>>,
}

/// What is offered of the Service, by exporter and by the member in which it runs.
fn offers<'a>(
    service: &ObjectName,
    snapshot: &'a HubSnapshot,
) -> BTreeMap<(&'a str, &'a str), Offer<'a>> {
    let slices = snapshot.slice_exports.by(service);
    let slices =
        slices.filter_map(|slice| Some((member_of_namespace(&slice.name.namespace)?, slice)));
    let slices: Vec<_> = slices.collect();
    let (accepted, left_out) = (Accepted::of(service, snapshot), left_out(&slices));
    let mut offers: BTreeMap<(&str, &str), Offer<'_>> = BTreeMap::new();
    for (member, slice) in slices {
        let lanes = accepted.lanes(member, slice);
        if lanes.is_empty() || left_out.contains(member) {
            continue;
        }
        for (runs_in, ready) in ready(member, slice, snapshot) {
            if !left_out.contains(runs_in) {
                let offer = offers.entry((member, runs_in)).or_default();
                offer.ready += ready;
                offer.lanes.extend(&lanes);
            }
        }
    }
    offers
}

/// The exporters that no importer uses, by the weight 0 that they give themselves. While one changes it, not all of its slices agree:
/// as for importers, the greatest counts.
fn left_out<'a>(slices: &[(&'a str, &Object<EndpointSliceExport>)]) -> BTreeSet<&'a str> {
    let mut weights: BTreeMap<&str, u16> = BTreeMap::new();
    for (member, slice) in slices {
        let weight = weights.entry(*member).or_default();
        *weight = weight::carried(slice.meta.annotation(annotations::WEIGHT)).max(*weight);
    }
    weights.into_iter().filter(|(_, weight)| *weight == 0).map(|(member, _)| member).collect()
}

/// Ready endpoints of a slice, by the member in which they run.
fn ready<'a>(
    exporter: &'a str,
    slice: &'a Object<EndpointSliceExport>,
    snapshot: &HubSnapshot,
) -> BTreeMap<&'a str, usize> {
    let mut ready: BTreeMap<&str, usize> = BTreeMap::new();
    for endpoint in &slice.spec.endpoints {
        let runs_in = executor(slice, endpoint, snapshot).unwrap_or(exporter);
        *ready.entry(runs_in).or_default() += 1;
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
