//! Bounds of what members write to the hub, in one table.
//!
//! Agents of the original copy what their API servers accept, so no bound is lower than that of Kubernetes for the same
//! field, but for the number of ports: Kubernetes has no bound for a Service, and 20 000 for an EndpointSlice.

/// The bound of one field: entries of a list, or characters of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Name of the field, in the object that contains it.
    pub field: &'static str,
    /// What agents accept when they read an object.
    pub accepted: usize,
}

const fn bound(field: &'static str, accepted: usize) -> Bound {
    Bound { field, accepted }
}

/// Ports of a Service.
pub const SERVICE_PORTS: Bound = bound("ports", 100);
/// Ports of a Service that was accepted before there was a bound and has not changed since: an upgrade withdraws no
/// Service. Also the bound for the ports of its slices.
pub const SERVICE_PORTS_IN_FORCE: Bound = bound("ports", 1000);

/// Fields of a port of a Service or slice.
pub mod port {
    use super::{Bound, bound};

    /// Name of the port.
    pub const NAME: Bound = bound("name", 63);
    /// Transport protocol.
    pub const PROTOCOL: Bound = bound("protocol", 63);
    /// Application protocol.
    pub const APP_PROTOCOL: Bound = bound("appProtocol", 317);
    /// Name of the port on the endpoints.
    pub const TARGET_PORT: Bound = bound("targetPort", 63);
}

/// Fields of a slice.
pub mod slice {
    use super::{Bound, bound};

    /// Kind of the addresses.
    pub const ADDRESS_TYPE: Bound = bound("addressType", 63);
    /// Endpoints, those that are draining included.
    pub const ENDPOINTS: Bound = bound("endpoints", 1000);
    /// Addresses of an endpoint.
    pub const ADDRESSES: Bound = bound("addresses", 100);
    /// An address of an endpoint.
    pub const ADDRESS: Bound = bound("addresses[]", 253);
    /// Ports of a slice, as importers take them.
    pub const PORTS: Bound = bound("ports", 100);
}

/// Fields of a reference to an object of a member.
pub mod reference {
    use super::{Bound, bound};

    /// Name of the member.
    pub const CLUSTER_ID: Bound = bound("clusterId", 253);
    /// API version of the object.
    pub const API_VERSION: Bound = bound("apiVersion", 317);
    /// Kind of the object.
    pub const KIND: Bound = bound("kind", 63);
    /// Namespace of the object.
    pub const NAMESPACE: Bound = bound("namespace", 63);
    /// Name of the object.
    pub const NAME: Bound = bound("name", 253);
    /// Version of the object.
    pub const RESOURCE_VERSION: Bound = bound("resourceVersion", 253);
    /// Uid of the object.
    pub const UID: Bound = bound("uid", 253);
    /// Namespace and name of the object.
    pub const NAMESPACED_NAME: Bound = bound("namespacedName", 317);
}
