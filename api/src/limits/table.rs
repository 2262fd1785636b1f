//! The bounds, by what has them.

use super::bound::{Bound, list, text};

/// The bound of Kubernetes for the ports of an EndpointSlice. A Service has none; one with more ports than that could
/// have no slices.
const STORED_PORTS: usize = 20_000;

/// Ports of a Service.
pub const SERVICE_PORTS: Bound = list("ports", 100).stored(STORED_PORTS);
/// Ports of a Service that was accepted before there was a bound and has not changed since: an upgrade withdraws no
/// Service. Also the bound for the ports of its slices.
pub const SERVICE_PORTS_IN_FORCE: Bound = list("ports", 1000).stored(STORED_PORTS);

/// Fields of an exported Service that only the original sets, for a cloud's DNS.
pub mod service {
    use super::{Bound, text};

    /// Type of the Service.
    pub const TYPE: Bound = text("type", 63);
    /// Cloud resource of the public address.
    pub const PUBLIC_IP_RESOURCE_ID: Bound = text("publicIPResourceID", 2048);
}

/// Fields of a port of a Service or slice.
pub mod port {
    use super::{Bound, text};

    /// Name of the port.
    pub const NAME: Bound = text("name", 63);
    /// Transport protocol.
    pub const PROTOCOL: Bound = text("protocol", 63);
    /// Application protocol.
    pub const APP_PROTOCOL: Bound = text("appProtocol", 317);
    /// Name of the port on the endpoints.
    pub const TARGET_PORT: Bound = text("targetPort", 63);
}

/// Fields of a slice.
pub mod slice {
    use super::{Bound, list, text};

    /// Kind of the addresses.
    pub const ADDRESS_TYPE: Bound = text("addressType", 63);
    /// Endpoints, those that are draining included.
    pub const ENDPOINTS: Bound = list("endpoints", 1000);
    /// Addresses of an endpoint.
    pub const ADDRESSES: Bound = list("addresses", 100);
    /// An address of an endpoint.
    pub const ADDRESS: Bound = text("addresses[]", 253);
    /// Ports of a slice, as importers take them.
    pub const PORTS: Bound = list("ports", 100).stored(super::STORED_PORTS);
}

/// Fields of a ClusterReport.
pub mod report {
    use super::{Bound, text};

    /// Uid of the member's cluster.
    pub const CLUSTER_UID: Bound = text("clusterUid", 64);
}

/// Fields of a reference to an object of a member.
pub mod reference {
    use super::{Bound, text};

    /// Name of the member.
    pub const CLUSTER_ID: Bound = text("clusterId", 253);
    /// API version of the object.
    pub const API_VERSION: Bound = text("apiVersion", 317);
    /// Kind of the object.
    pub const KIND: Bound = text("kind", 63);
    /// Namespace of the object.
    pub const NAMESPACE: Bound = text("namespace", 63);
    /// Name of the object.
    pub const NAME: Bound = text("name", 253);
    /// Version of the object.
    pub const RESOURCE_VERSION: Bound = text("resourceVersion", 253);
    /// Uid of the object.
    pub const UID: Bound = text("uid", 253);
    /// Namespace and name of the object.
    pub const NAMESPACED_NAME: Bound = text("namespacedName", 317);
}
