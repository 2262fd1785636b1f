//! What watches show of model API servers.

use fleet_accumulator::{ClusterId, Snapshot, SourceInfo, Tracked, View, Views};

use crate::ModelServer;

/// The snapshot of an agent that watches `servers`, each for the cluster it serves, and of the hub `namespace` only if
/// there is one. Label selectors of watches do not count.
pub fn snapshot<S: Snapshot>(servers: &[&ModelServer], namespace: Option<&str>) -> S {
    S::of(&Servers { servers, namespace })
}

struct Servers<'a> {
    servers: &'a [&'a ModelServer],
    /// Where the hub is watched.
    namespace: Option<&'a str>,
}

impl Views for Servers<'_> {
    fn view<T: Tracked>(&self, source: &SourceInfo) -> View<T> {
        let server = self.servers.iter().find(|server| server.serves(source.cluster));
        let server = server.expect("a server for every cluster");
        let narrow = source.cluster == ClusterId::Hub && source.kind.namespaced;
        server.view(self.namespace.filter(|_| narrow))
    }
}
