//! Kinds that checks read and agents do not.

use fleet_api::ResourceKind;

/// Definitions of kinds.
pub(in crate::doctor) const DEFINITION: ResourceKind = ResourceKind {
    group: "apiextensions.k8s.io",
    version: "v1",
    kind: "CustomResourceDefinition",
    plural: "customresourcedefinitions",
    namespaced: false,
};
/// Deployments.
pub(in crate::doctor) const DEPLOYMENT: ResourceKind = ResourceKind {
    group: "apps",
    version: "v1",
    kind: "Deployment",
    plural: "deployments",
    namespaced: true,
};
/// `DaemonSets`.
pub(in crate::doctor) const DAEMON_SET: ResourceKind =
    ResourceKind { kind: "DaemonSet", plural: "daemonsets", ..DEPLOYMENT };
