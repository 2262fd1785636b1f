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
    /// Host name of an endpoint.
    pub const HOSTNAME: Bound = text("hostname", 63);
    /// Zone of an endpoint.
    pub const ZONE: Bound = text("zone", 63);
    /// Member that runs an endpoint.
    pub const EXECUTOR: Bound = text("executor", 63);
    /// Ports of a slice, as importers take them.
    pub const PORTS: Bound = list("ports", 100).stored(super::STORED_PORTS);
}

/// Fields of a ClusterReport.
pub mod report {
    use super::{Bound, text};

    /// Uid of the member's cluster.
    pub const CLUSTER_UID: Bound = text("clusterUid", 64);
    /// Incarnation of the hub on which everything was complete.
    pub const PUBLISHED_TO: Bound = text("publishedTo", 80);
}

/// Fields of an `ExportedService` and of the `ResolvedService` that is made of several.
pub mod exported {
    use super::{Bound, list, text};

    /// Namespace of the Service.
    pub const NAMESPACE: Bound = text("namespace", 63);
    /// Name of the Service.
    pub const NAME: Bound = text("name", 63);
    /// Uid of the Service.
    pub const SERVICE_UID: Bound = text("serviceUid", 64);
    /// Uid of the ServiceExport.
    pub const EXPORT_UID: Bound = text("uid", 64);
    /// Ports of the Service.
    pub const PORTS: Bound = list("ports", 100);
    /// How traffic is distributed.
    pub const TRAFFIC_DISTRIBUTION: Bound = text("trafficDistribution", 63);
    /// Families of the addresses.
    pub const IP_FAMILIES: Bound = list("ipFamilies", 2);
    /// Exported labels.
    pub const LABELS: Bound = list("labels", 32);
    /// Value of an exported label.
    pub const LABEL: Bound = text("labels{}", 63);
    /// Exported annotations.
    pub const ANNOTATIONS: Bound = list("annotations", 32);
    /// Value of an exported annotation.
    pub const ANNOTATION: Bound = text("annotations{}", 2048);
    /// Key of an exported label or annotation, which definitions bound with a rule.
    pub const KEY: usize = 317;
    /// Bytes of all exported labels and annotations together, keys included: all members read them.
    pub const METADATA: usize = 8 << 10;
}

/// Fields of a `ResolvedService`.
pub mod resolved {
    use super::{Bound, list, text};

    /// The cluster whose export decides.
    pub const WINNER: Bound = text("winner", 63);
    /// The clusters whose endpoints form the Service.
    pub const EXPORTERS: Bound = list("exporters", 1024);
    /// Name of such a cluster.
    pub const CLUSTER: Bound = text("cluster", 63);
    /// Ports of a cluster that are not in force.
    pub const WITHHELD: Bound = list("withheld", 100);
    /// Name of such a port.
    pub const WITHHELD_PORT: Bound = text("withheld[]", 63);
    /// In what exports differ.
    pub const CONFLICTS: Bound = list("conflicts", 9);
    /// Text about a conflict.
    pub const MESSAGE: Bound = text("message", 1024);
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
