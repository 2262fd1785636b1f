//! The Deployments of this project's charts.
//!
//! KubeFleet's agents have the same names, and its charts the same label for them: ours are part of this project, by another label.

use fleet_api::ResourceKind;

/// Deployments.
pub(crate) const DEPLOYMENT: ResourceKind = ResourceKind {
    group: "apps",
    version: "v1",
    kind: "Deployment",
    plural: "deployments",
    namespaced: true,
};
/// Selects those of the hub agent, by the labels of all releases of the chart.
pub(crate) const HUB_AGENT: &str =
    "app.kubernetes.io/name=hub-agent,app.kubernetes.io/part-of=fleet-networking";
/// Selects those of the member agent, likewise.
pub(crate) const MEMBER_AGENT: &str =
    "app.kubernetes.io/name=member-agent,app.kubernetes.io/part-of=fleet-networking";
/// The label with the name of the release of Helm.
pub(crate) const RELEASE: &str = "app.kubernetes.io/instance";
