//! Which ports of exporters are in force.

use std::collections::{HashMap, HashSet};

use fleet_accumulator::Object;
use fleet_api::multicluster::standard::ServiceImportPort;
use fleet_model::objects::multicluster::ResolvedService;

use crate::multicluster::import::state::ServiceState;
use crate::multicluster::import::{ports, source};

/// Which ports of exporters are in force.
///
/// A hub withholds ports that contradict those that it states itself. An import that stays as it is may have others, as one that was
/// made by an earlier hub: which exporters have one of those, their slices here show.
///
/// It is asked for each port of each slice: everything is looked up.
pub(super) struct InForce<'a> {
    resolved: Option<&'a Object<ResolvedService>>,
    /// Name, number and protocol of the ports that the hub states.
    stated: HashSet<(&'a str, i32, &'a str)>,
    /// Exporters, each with the name of a port that the hub withholds.
    withheld: HashSet<(&'a str, &'a str)>,
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
        let resolved = state.resolved;
        let ports = resolved.into_iter().flat_map(|resolved| &resolved.properties.ports);
        let stated = ports.map(|port| (port.name.as_str(), port.port, port.protocol.as_str()));
        let exporters = resolved.into_iter().flat_map(|resolved| &resolved.exporters);
        let withheld = exporters.flat_map(|exporter| {
            exporter.withheld.iter().map(|port| (exporter.cluster.as_str(), port.as_str()))
        });
        Self { resolved, stated: stated.collect(), withheld: withheld.collect(), here }
    }

    /// Whether a cluster has a port of the import.
    pub(super) fn has(&self, cluster: &str, port: &ServiceImportPort) -> bool {
        let name = port.name.as_str();
        let is_stated = self.stated.contains(&(name, port.port, ports::protocol(port)));
        let stating = self.resolved.filter(|_| is_stated);
        if stating.is_some_and(|resolved| resolved.exporter(cluster).is_some()) {
            return !self.withheld.contains(&(cluster, name));
        }
        let is_here = |names: &HashSet<&str>| names.contains(name);
        // One without name has another one in slices.
        name.is_empty() || self.here.get(cluster).is_some_and(is_here)
    }
}
