//! Whether objects can be created in a namespace.

use fleet_accumulator::View;
use fleet_api::ObjectName;

use crate::objects::Namespace;

/// Whether the API server accepts new objects in a namespace: it exists and is not being deleted.
pub fn namespace_accepts_objects(namespaces: &View<Namespace>, name: &str) -> bool {
    namespaces.get(&ObjectName::cluster(name)).is_some_and(|namespace| !namespace.terminating)
}
