//! What may be dialled: endpoints that are imported here, and the addresses and names of the Services that they are imported for.
//!
//! Only what lies in an imported EndpointSlice is dialled, after every check that an import passes, and only if it is imported as this
//! agent imports it: into its own namespace, or with a ServiceImport that bears its mark. So an exporter has no more dialled than what
//! Pods of this cluster are sent to anyway.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use fleet_accumulator::Object;
use fleet_api::multicluster::ReachApi;
use fleet_api::{EndpointPort, ObjectName, Protocol, annotations, labels};
use fleet_model::objects::{EndpointSlice, Service};

use super::cell::{Cell, Imported};
use crate::Settings;
use crate::reserved::Reserved;
use crate::snapshot::MemberSnapshot;

/// Endpoints of one cell that are dialled in turn: of thousands a sample.
pub(crate) const SAMPLE: usize = 16;
/// Endpoints of one slice that are looked at for it: some may be reserved.
const CANDIDATES: usize = 2 * SAMPLE;
const TCP: &str = "TCP";

/// All that may be dialled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Targets {
    /// Endpoints by Service and exporter. One without any is not dialled.
    pub(crate) cells: BTreeMap<Cell, BTreeSet<SocketAddr>>,
    /// What clients use, by Service.
    pub(crate) fronts: BTreeMap<Imported, Front>,
}

/// How clients in this cluster reach an imported Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Front {
    pub(crate) address: SocketAddr,
    /// Its name, if names are resolved.
    pub(crate) name: Option<Arc<str>>,
}

impl Targets {
    /// What is imported now.
    pub(crate) fn of(settings: &Settings, snapshot: &MemberSnapshot) -> Self {
        let mut targets = Self::default();
        let reserved = Reserved::of(settings, snapshot);
        for slice in snapshot.endpoint_slices.iter() {
            let Some((cell, backs)) = cell_of(settings, snapshot, slice) else { continue };
            let may_dial = |address: &IpAddr| {
                is_ordinary(*address) && reserved.reason_for_all(&cell.exporter, *address).is_none()
            };
            let sample = targets.cells.entry(cell.clone()).or_default();
            add_endpoints(slice, may_dial, sample);
            if let Some(backs) = backs
                && !targets.fronts.contains_key(&cell.imported)
                && let Some(front) = front(settings, snapshot, &cell.imported, &backs)
            {
                targets.fronts.insert(cell.imported, front);
            }
        }
        targets
    }
}

/// Whose slice it is, and the Service of this cluster that it backs; `None` unless this agent has imported it.
fn cell_of(
    settings: &Settings,
    snapshot: &MemberSnapshot,
    slice: &Object<EndpointSlice>,
) -> Option<(Cell, Option<ObjectName>)> {
    let meta = &slice.object.meta;
    if meta.is_terminating() {
        return None;
    }
    let namespace = &slice.name.namespace;
    let (api, service, exporter) = if slice.object.is_imported_by_standard() {
        let name = meta.label(labels::MULTICLUSTER_SERVICE_NAME)?;
        let service = ObjectName::new(Arc::clone(namespace), name);
        let import = snapshot.standard_imports.get(&service)?;
        import.object.hub()?;
        (ReachApi::Standard, service, meta.label(labels::MULTICLUSTER_SOURCE_CLUSTER)?)
    } else {
        let is_ours = meta.label(labels::MANAGED_BY) == Some(labels::MANAGED_BY_IMPORT)
            && **namespace == *settings.identity.system_namespace;
        let exporter = meta.annotation(annotations::ORIGIN_CLUSTER).filter(|_| is_ours)?;
        (ReachApi::Fleet, slice.object.imported_for()?, exporter)
    };
    let cell = Cell { imported: Imported { api, service }, exporter: exporter.into() };
    Some((cell, slice.object.backs(namespace)))
}

/// Adds ready endpoints, each with one port of TCP, up to the size of a sample. Which ones is decided by a hash of their addresses, so that
/// a sample stays as it is while others come and go. Only those are parsed and checked that may be in it.
fn add_endpoints(
    slice: &EndpointSlice,
    may_dial: impl Fn(&IpAddr) -> bool,
    sample: &mut BTreeSet<SocketAddr>,
) {
    let ports: Vec<_> = slice.ports.iter().filter_map(tcp).collect();
    if ports.is_empty() {
        return;
    }
    let mut hashed: Vec<_> = slice.ready.addresses().map(|text| (spread(text), text)).collect();
    if hashed.len() > CANDIDATES {
        hashed.select_nth_unstable(CANDIDATES);
        hashed.truncate(CANDIDATES);
    }
    hashed.sort_unstable();
    let addresses = hashed.iter().filter_map(|(hash, text)| Some((*hash, text.parse().ok()?)));
    for (hash, address) in addresses.filter(|(_, address)| may_dial(address)) {
        let port = usize::try_from(hash % ports.len() as u64).unwrap_or_default();
        sample.insert(SocketAddr::new(address, ports[port]));
    }
    while sample.len() > SAMPLE {
        let last = sample.iter().max_by_key(|it| spread(&it.ip().to_string())).copied();
        let Some(last) = last else { return };
        sample.remove(&last);
    }
}

/// A number that depends on all of a text (FNV-1a).
fn spread(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn tcp(port: &EndpointPort) -> Option<u16> {
    let is_tcp = port.protocol.as_deref().is_none_or(|protocol| protocol == TCP);
    port.port.filter(|_| is_tcp).and_then(|number| u16::try_from(number).ok()).filter(|it| *it > 0)
}

/// An import has checked that already; a slice that a user of this cluster has changed may have any address until it is set right.
fn is_ordinary(address: IpAddr) -> bool {
    let special = address.is_loopback() || address.is_multicast() || address.is_unspecified();
    let is_local = match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_broadcast(),
        IpAddr::V6(address) => {
            address.is_unicast_link_local() || address.to_ipv4_mapped().is_some()
        }
    };
    !special && !is_local && !fleet_model::addresses::is_cloud_service(address)
}

fn front(
    settings: &Settings,
    snapshot: &MemberSnapshot,
    imported: &Imported,
    backs: &ObjectName,
) -> Option<Front> {
    let service: &Service = &snapshot.services.get(backs)?.object;
    if service.meta.is_terminating() {
        return None;
    }
    let address = service.cluster_ip.as_deref()?.parse().ok()?;
    let mut ports = service.ports.iter();
    let port = ports.find(|port| port.protocol == Protocol::Tcp)?;
    let address = SocketAddr::new(address, u16::try_from(port.port).ok()?);
    let of = match imported.api {
        // The search list of the agent's Pod knows the domain of its cluster.
        ReachApi::Fleet => format!("{}.{}.svc", backs.name, backs.namespace),
        ReachApi::Standard => {
            let ObjectName { namespace, name } = &imported.service;
            format!("{name}.{namespace}.svc.clusterset.local.")
        }
    };
    Some(Front { address, name: settings.reachability.names().then(|| of.into()) })
}
