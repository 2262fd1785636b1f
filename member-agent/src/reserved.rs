//! Addresses that lead to this cluster itself: traffic that a derived Service sends there would reach what only this cluster
//! may reach.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use fleet_accumulator::Object;
use fleet_api::ObjectName;
use fleet_model::cidr::{Cidr, Cidrs};
use fleet_model::objects::{EndpointSlice, SliceIndex};

use crate::Settings;
use crate::snapshot::MemberSnapshot;

/// Where clients in the cluster find the API server.
const API_SERVER: (&str, &str) = ("default", "kubernetes");

/// What an address is reserved for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    /// Services of this cluster.
    Service(Cidr),
    /// One of its Nodes.
    Node(Arc<str>),
    /// Its API server.
    ApiServer(IpAddr),
    /// What the administrator knows.
    Flag(Cidr),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(range) => write!(f, "in the Service range {range} of this cluster"),
            Self::Node(name) => write!(f, "the address of this cluster's Node {name}"),
            Self::ApiServer(_) => f.write_str("the address of this cluster's API server"),
            Self::Flag(range) => write!(f, "in the range {range} of --reserved-cidrs"),
        }
    }
}

/// Whether an endpoint may have an address; the later ones are the worse.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// It is not reserved.
    Free,
    /// It is, but endpoints that were imported before it was show that it serves: those of the same cluster stay, and may
    /// change.
    InForce(Reason),
    /// It is.
    Refused(Reason),
}

/// What is reserved in a cluster at one moment.
pub(crate) struct Reserved<'a> {
    settings: &'a Settings,
    snapshot: &'a MemberSnapshot,
    services: Vec<Cidrs>,
    api_servers: BTreeSet<IpAddr>,
}

impl<'a> Reserved<'a> {
    /// As settings and snapshot show it.
    pub(crate) fn of(settings: &'a Settings, snapshot: &'a MemberSnapshot) -> Self {
        let (namespace, name) = API_SERVER;
        let of_api_server = SliceIndex::Backs(ObjectName::new(namespace, name));
        let slices = snapshot.endpoint_slices.by(&of_api_server);
        let served = slices.flat_map(|slice| addresses(slice).collect::<Vec<_>>());
        Self {
            settings,
            snapshot,
            services: snapshot.service_cidrs.iter().map(|range| range.cidrs.clone()).collect(),
            api_servers: served.chain(settings.reserved_addresses.api_server).collect(),
        }
    }

    /// Why no endpoint of `origin` may have the address; `None` if it may. What a cluster exports to itself may lead to its
    /// own Nodes.
    pub(crate) fn reason(&self, origin: &str, address: IpAddr) -> Option<Reason> {
        if *origin == *self.settings.identity.cluster {
            return None;
        }
        self.reason_for_all(origin, address)
    }

    /// The same where `origin` is not proved, such as by a slice that users may write: this cluster has no more than others.
    pub(crate) fn reason_for_all(&self, origin: &str, address: IpAddr) -> Option<Reason> {
        let settings = &self.settings.reserved_addresses;
        if settings.allowed.allow(origin, address) {
            return None;
        }
        if let Some(range) = self.services.iter().find_map(|ranges| ranges.find(address)) {
            return Some(Reason::Service(range));
        }
        if self.api_servers.contains(&address) {
            return Some(Reason::ApiServer(address));
        }
        let nodes = &self.snapshot.node_addresses;
        let node = if nodes.is_empty() { None } else { nodes.by(&address).next() };
        if let Some(node) = node {
            return Some(Reason::Node(Arc::clone(&node.name.name)));
        }
        settings.cidrs.find(address).map(Reason::Flag)
    }
}

/// Whether a slice has the addresses of the API server.
pub(crate) fn is_of_api_server(slice: &Object<EndpointSlice>) -> bool {
    let (namespace, name) = API_SERVER;
    *slice.name.namespace == *namespace
        && slice.backs(namespace).is_some_and(|service| *service.name == *name)
}

/// The addresses of a slice that takes traffic, as far as they are IP addresses.
pub(crate) fn addresses(slice: &EndpointSlice) -> impl Iterator<Item = IpAddr> {
    let all = slice.ready.addresses().chain(slice.draining.addresses());
    all.filter_map(|text| text.parse().ok())
}

/// An imported slice, and the cluster that it is from.
type Imported<'a> = (&'a str, &'a Object<EndpointSlice>);

/// What is reserved for the endpoints of a Service, from whichever cluster.
pub(crate) struct Reservations<'a> {
    reserved: Reserved<'a>,
    /// Finds what is imported of the Service.
    imported: Box<dyn Fn() -> Vec<Imported<'a>> + 'a>,
    in_force: OnceCell<BTreeSet<(&'a str, Reason)>>,
}

impl<'a> Reservations<'a> {
    /// What is reserved for a Service of which `imported` finds the imported slices.
    pub(crate) fn new(
        settings: &'a Settings,
        snapshot: &'a MemberSnapshot,
        imported: impl Fn() -> Vec<Imported<'a>> + 'a,
    ) -> Self {
        let reserved = Reserved::of(settings, snapshot);
        Self { reserved, imported: Box::new(imported), in_force: OnceCell::new() }
    }

    /// Whether an endpoint of `origin` may have the address.
    pub(crate) fn verdict(&self, origin: &'a str, address: IpAddr) -> Verdict {
        let Some(reason) = self.reserved.reason(origin, address) else { return Verdict::Free };
        let (known, key) = (self.in_force(), (origin, reason));
        if known.contains(&key) { Verdict::InForce(key.1) } else { Verdict::Refused(key.1) }
    }

    /// For what the addresses are reserved that endpoints of the Service have here already, by the cluster that they are from:
    /// what was imported before a range was reserved, or by an earlier release. It is read only if an address is reserved,
    /// and once for all slices: they may be many.
    fn in_force(&self) -> &BTreeSet<(&'a str, Reason)> {
        self.in_force.get_or_init(|| {
            let mut found = BTreeSet::new();
            for (origin, slice) in (self.imported)() {
                let reasons = addresses(slice).filter_map(|it| self.reserved.reason(origin, it));
                found.extend(reasons.map(|reason| (origin, reason)));
            }
            found
        })
    }
}
