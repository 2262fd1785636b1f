//! Kinds that checks read and agents do not.

use fleet_api::ResourceKind;

use crate::deployments::DEPLOYMENT;

/// Definitions of kinds.
pub(in crate::doctor) const DEFINITION: ResourceKind = ResourceKind {
    group: "apiextensions.k8s.io",
    version: "v1",
    kind: "CustomResourceDefinition",
    plural: "customresourcedefinitions",
    namespaced: false,
};
/// `DaemonSets`.
pub(in crate::doctor) const DAEMON_SET: ResourceKind =
    ResourceKind { kind: "DaemonSet", plural: "daemonsets", ..DEPLOYMENT };
