//! Kinds of rights.

use fleet_api::ResourceKind;

pub(crate) const ROLE: ResourceKind = ResourceKind {
    group: "rbac.authorization.k8s.io",
    version: "v1",
    kind: "Role",
    plural: "roles",
    namespaced: true,
};
pub(crate) const ROLE_BINDING: ResourceKind =
    ResourceKind { kind: "RoleBinding", plural: "rolebindings", ..ROLE };
pub(crate) const CLUSTER_ROLE: ResourceKind =
    ResourceKind { kind: "ClusterRole", plural: "clusterroles", namespaced: false, ..ROLE };
pub(crate) const CLUSTER_ROLE_BINDING: ResourceKind = ResourceKind {
    kind: "ClusterRoleBinding",
    plural: "clusterrolebindings",
    namespaced: false,
    ..ROLE
};
