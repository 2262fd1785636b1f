//! The names that identify this member.

use fleet_api::{ObjectName, names};

/// Names that follow from the name of the member cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Name of the cluster in the fleet.
    pub cluster: String,
    /// Its namespace on the hub.
    pub hub_namespace: String,
    /// Namespace of derived Services and imported slices in the own cluster.
    pub system_namespace: String,
}

impl Identity {
    /// The member `cluster`, with the usual system namespace.
    pub fn new(cluster: impl Into<String>) -> Self {
        let cluster = cluster.into();
        let hub_namespace = names::member_namespace(&cluster);
        Self { cluster, hub_namespace, system_namespace: names::SYSTEM_NAMESPACE.to_owned() }
    }

    /// Name of the EndpointSliceImport that an imported slice of this name is made from.
    pub fn copy_of(&self, imported: &ObjectName) -> ObjectName {
        ObjectName::new(self.hub_namespace.as_str(), imported.name.clone())
    }
}
