//! Exports of silent members whose ports come after those of others.
//!
//! A port that an export has which is not silent, too, stays where the age of the silent member's puts it.

use std::collections::{BTreeSet, HashMap, HashSet};

use fleet_api::Protocol;
use fleet_api::multicluster::{Exporter, ServicePort};

use super::export::Export;
use crate::precedence::Precedence;

/// What makes two ports the same for clients.
type Identity<'a> = (&'a str, &'a Protocol, i32);

/// The exports that yield.
#[derive(Debug, Default)]
pub(super) struct Yielding<'a> {
    clusters: BTreeSet<&'a str>,
    /// Ports that count.
    held: HashSet<Identity<'a>>,
}

impl<'a> Yielding<'a> {
    /// Those of `exports`, which are in the order in which their ports count. An export yields if a port that does not count, and that
    /// no other export has that counts, contradicts one of a later export that does.
    pub(super) fn of(exports: &'a [Export<'_>], in_force: &[ServicePort]) -> Self {
        let by_age = |export: &Export<'_>| export.precedence.is_by_age();
        if exports.iter().all(by_age) {
            return Self::default();
        }
        let in_force: HashSet<_> = in_force.iter().map(identity).collect();
        let is_any_by_age = exports.iter().any(by_age);
        let counts = |export: &Export<'_>, port| match export.precedence {
            Precedence::ByAge => true,
            Precedence::Yields if is_any_by_age => false,
            // Without anything in force there is nothing to leave as it is.
            _ => in_force.is_empty() || in_force.contains(&identity(port)),
        };
        let counting = |export: &'a Export<'_>| {
            export.properties.ports.iter().filter(move |port| counts(export, port))
        };
        let held = exports.iter().flat_map(|export| counting(export).map(identity));
        let mut yielding = Self { clusters: BTreeSet::new(), held: held.collect() };
        let (mut names, mut numbers) = (HashSet::new(), HashSet::new());
        for export in exports.iter().rev() {
            let yields = |port: &ServicePort| {
                !yielding.held.contains(&identity(port))
                    && (names.contains(port.name.as_str()) || numbers.contains(&number(port)))
            };
            if export.properties.ports.iter().any(yields) {
                yielding.clusters.insert(export.cluster);
            }
            names.extend(counting(export).map(|port| port.name.as_str()));
            numbers.extend(counting(export).map(number));
        }
        yielding
    }

    /// Whether the export of a cluster yields.
    pub(super) fn includes(&self, cluster: &str) -> bool {
        self.clusters.contains(cluster)
    }

    /// The ports of an export that yields which others have, too: they keep their place.
    pub(super) fn staying<'b>(
        &self,
        export: &'b Export<'_>,
    ) -> impl Iterator<Item = &'b ServicePort> {
        export.properties.ports.iter().filter(|port| self.held.contains(&identity(port)))
    }

    /// Those that lack a port for it, of these exporters. Others yield to exports that are not in force either.
    pub(super) fn lacking(&self, exporters: &[Exporter]) -> BTreeSet<String> {
        let lacks = |exporter: &&Exporter| {
            self.includes(&exporter.cluster) && !exporter.withheld.is_empty()
        };
        exporters.iter().filter(lacks).map(|exporter| exporter.cluster.clone()).collect()
    }

    /// Puts ports in force into the order of the exports, which does not change with their silence.
    pub(super) fn arrange(&self, ports: &mut [ServicePort], exports: &[Export<'_>]) {
        if self.clusters.is_empty() {
            return;
        }
        let all = exports.iter().flat_map(|export| export.properties.ports.iter());
        let mut positions = HashMap::new();
        for (position, port) in all.enumerate() {
            positions.entry(identity(port)).or_insert(position);
        }
        ports.sort_by_cached_key(|port| positions.get(&identity(port)).copied());
    }
}

fn identity(port: &ServicePort) -> Identity<'_> {
    (&port.name, &port.protocol, port.port)
}

fn number(port: &ServicePort) -> (&Protocol, i32) {
    (&port.protocol, port.port)
}
