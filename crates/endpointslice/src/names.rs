//! Names of labels, annotations and managers.

/// Manager name of the built-in controller.
pub const MANAGER: &str = "endpointslice-controller.k8s.io";
pub(crate) const SERVICE_NAME: &str = "kubernetes.io/service-name";
pub(crate) const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
pub(crate) const HEADLESS: &str = "service.kubernetes.io/headless";
pub(crate) const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";
pub(crate) const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";
pub(crate) const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
pub(crate) const ZONE: &str = "topology.kubernetes.io/zone";
/// Nodes with one of these labels add no capacity to their zone; the value is ignored.
pub(crate) const CONTROL_PLANE: [&str; 2] =
    ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];
