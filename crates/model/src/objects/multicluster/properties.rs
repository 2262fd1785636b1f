//! What exports offer and what is in force, kept once: most exporters of a Service offer the same, and that is in force.

use std::sync::{Arc, LazyLock};

use fleet_accumulator::{Shared, shared_name};
use fleet_api::ObjectName;
use fleet_api::multicluster::{ServiceProperties, ServiceReference};
use fleet_api::names::is_dns1123_label;
use parking_lot::Mutex;

static PROPERTIES: LazyLock<Mutex<Shared<ServiceProperties>>> = LazyLock::new(Mutex::default);

/// The properties, in one allocation with all equal ones.
pub(super) fn share(mut properties: ServiceProperties) -> Arc<ServiceProperties> {
    // Decoding leaves spare capacity in the lists.
    properties.ports.shrink_to_fit();
    properties.ip_families.shrink_to_fit();
    PROPERTIES.lock().share(properties)
}

/// The Service that a reference names; `None` if no Service can have that name.
pub(super) fn named(service: &ServiceReference) -> Option<ObjectName> {
    let ServiceReference { namespace, name } = service;
    let valid = is_dns1123_label(namespace) && is_dns1123_label(name);
    valid.then(|| shared_name(&ObjectName::new(namespace.as_str(), name.as_str())))
}
