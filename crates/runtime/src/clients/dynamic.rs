//! Objects of whatever kind, as tools look at them.

use fleet_api::ResourceKind;
use kube::api::{ApiResource, DynamicObject};
use kube::{Api, Client};

/// An API for one kind. `namespace` limits it, unless objects of the kind lie in none; `None` means everywhere.
pub fn dynamic(client: Client, kind: ResourceKind, namespace: Option<&str>) -> Api<DynamicObject> {
    let resource = ApiResource {
        group: kind.group.to_owned(),
        version: kind.version.to_owned(),
        api_version: kind.api_version(),
        kind: kind.kind.to_owned(),
        plural: kind.plural.to_owned(),
    };
    match namespace.filter(|_| kind.namespaced) {
        Some(namespace) => Api::namespaced_with(client, namespace, &resource),
        None => Api::all_with(client, &resource),
    }
}
