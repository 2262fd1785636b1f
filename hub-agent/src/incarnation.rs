//! Which hub this is, and since which restart of its history.

use fleet_accumulator::Uid;
use fleet_api::ObjectName;
use fleet_model::incarnation::Incarnation;

use crate::snapshot::HubSnapshot;

/// The namespace whose uid stands for its cluster: it is created with the cluster, and cannot be deleted.
const OF_CLUSTER: &str = "kube-system";

/// The uid of the hub's cluster, once it is known.
pub(crate) fn cluster(snapshot: &HubSnapshot) -> Option<&Uid> {
    snapshot.namespaces.get(&ObjectName::cluster(OF_CLUSTER)).map(|namespace| &namespace.uid)
}

/// The incarnation as written on the wire.
pub(crate) fn of(cluster: &Uid, epoch: i64) -> String {
    Incarnation { cluster: &cluster.to_string(), epoch }.to_string()
}
