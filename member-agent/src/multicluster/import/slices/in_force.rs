//! Which ports of exporters are in force.

use std::collections::{HashMap, HashSet};

use fleet_accumulator::Object;
use fleet_api::multicluster::ServicePort;
use fleet_api::multicluster::standard::ServiceImportPort;
use fleet_model::objects::multicluster::ResolvedService;

use crate::multicluster::import::state::ServiceState;
use crate::multicluster::import::{ports, source};

/// Which ports of exporters are in force.
///
/// A hub withholds ports that contradict those that it states itself. An import that stays as it is may have others, as one that was
/// made by an earlier hub: which exporters have one of those, their slices here show.
pub(super) struct InForce<'a> {
    resolved: Option<&'a Object<ResolvedService>>,
    /// Names of the ports that slices have here, by cluster.
    here: HashMap<&'a str, HashSet<&'a str>>,
}

impl<'a> InForce<'a> {
    pub(super) fn of(state: &ServiceState<'a>) -> Self {
        let mut here: HashMap<_, HashSet<_>> = HashMap::new();
        for slice in state.imported.iter().copied() {
            let Some(cluster) = source::cluster(&slice.slice) else { continue };
            let ports = slice.slice.ports.iter().flatten();
            here.entry(cluster).or_default().extend(ports.filter_map(|port| port.name.as_deref()));
        }
        Self { resolved: state.resolved, here }
    }

    /// Whether a cluster has a port of the import.
    pub(super) fn has(&self, cluster: &str, port: &ServiceImportPort) -> bool {
        let stating = self.resolved.filter(|resolved| states(resolved, port));
        if let Some(exporter) = stating.and_then(|resolved| resolved.exporter(cluster)) {
            return !exporter.withheld.contains(&port.name);
        }
        let is_here = |names: &HashSet<&str>| names.contains(port.name.as_str());
        // One without name has another one in slices.
        port.name.is_empty() || self.here.get(cluster).is_some_and(is_here)
    }
}

/// Whether the hub states the very port of an import.
fn states(resolved: &ResolvedService, port: &ServiceImportPort) -> bool {
    let is_same = |stated: &ServicePort| {
        stated.name == port.name
            && stated.port == port.port
            && stated.protocol.as_str() == ports::protocol(port)
    };
    resolved.properties.ports.iter().any(is_same)
}
