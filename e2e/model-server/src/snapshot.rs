//! What watches show of model API servers.

use fleet_accumulator::{ClusterId, Object, Snapshot, SourceInfo, Tracked, View, Views};
use fleet_api::ObjectName;
use fleet_api::names::SYSTEM_NAMESPACE;
use serde::Deserialize as _;

use crate::ModelServer;
use crate::model::Stored;

/// The snapshot of an agent that watches `servers`, each for the cluster it serves. `namespace` is that of a member on the hub: it
/// sees nothing else there, but for what all members read. Other selectors of watches do not count.
pub fn snapshot<S: Snapshot>(servers: &[&ModelServer], namespace: Option<&str>) -> S {
    S::of(&Servers { servers, namespace })
}

struct Servers<'a> {
    servers: &'a [&'a ModelServer],
    /// That of the member on the hub; `None` for the hub agent, which watches all of them.
    namespace: Option<&'a str>,
}

impl<'a> Servers<'a> {
    /// Where the objects of a source are watched, if not everywhere.
    fn place(&self, source: &SourceInfo) -> Option<&'a str> {
        let own =
            self.namespace.filter(|_| source.cluster == ClusterId::Hub && source.kind.namespaced);
        own.and_then(|own| match source.field {
            "resolved_services" => Some(SYSTEM_NAMESPACE),
            "fleet_slices" | "fleet_reports" | "hub_service_traffics" => None,
            _ => Some(own),
        })
    }
}

impl Views for Servers<'_> {
    fn view<T: Tracked>(&self, source: &SourceInfo) -> View<T> {
        let server = self.servers.iter().find(|server| server.serves(source.cluster));
        let server = server.expect("a server for every cluster");
        server.view(self.place(source))
    }
}

impl ModelServer {
    /// What a watch of one kind, in one namespace or all, would show.
    pub fn view<T: Tracked>(&self, namespace: Option<&str>) -> View<T> {
        let is_seen = |name: &ObjectName| namespace.is_none_or(|only| *name.namespace == *only);
        let seen = self.stored(T::KIND).filter(|(name, _)| is_seen(name));
        View::of(seen.map(|(name, object)| record(name, object)))
    }
}

fn record<T: Tracked>(name: &ObjectName, stored: &Stored) -> Object<T> {
    let object = stored.read(|object| {
        // Not from a copy of it: tests take thousands of snapshots.
        let wire = T::Wire::deserialize(object).expect("what was stored decodes as its kind");
        Object::read(wire).expect("what was stored is complete")
    });
    Object { name: name.clone(), ..object }
}
