//! What watches show of model API servers.

use fleet_accumulator::macros::{Field, FieldVisitor};
use fleet_accumulator::{ClusterId, Snapshot, Tracked, View};

use crate::ModelServer;

/// The snapshot of an agent that watches `servers`, each for the cluster it serves, and of the hub `namespace` only if
/// there is one. Label selectors of watches do not count.
pub fn snapshot<S: Snapshot + Default>(servers: &[&ModelServer], namespace: Option<&str>) -> S {
    let mut snapshot = S::default();
    snapshot.set_seq(1);
    for source in S::sources() {
        let server = servers.iter().find(|server| server.serves(source.cluster));
        let server = server.expect("a server for every cluster");
        let namespace = namespace.filter(|_| source.cluster == ClusterId::Hub);
        S::visit(source.id, Show { server, namespace, snapshot: &mut snapshot });
    }
    snapshot
}

struct Show<'a, S> {
    server: &'a ModelServer,
    namespace: Option<&'a str>,
    snapshot: &'a mut S,
}

impl<S> FieldVisitor<S> for Show<'_, S> {
    type Out = ();

    fn visit<T: Tracked>(self, field: Field<S, T>) {
        let view: View<T> = self.server.view(self.namespace);
        *(field.get_mut)(self.snapshot) = view;
    }
}
