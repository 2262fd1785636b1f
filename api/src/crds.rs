//! `CustomResourceDefinitions` of all kinds: derived from the types, then finished.

mod finish;
pub(crate) mod rules;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use kube::core::crd::merge_crds;

pub use finish::finish;

use crate::{membership, multicluster, offload, traffic, v1alpha1, v1beta1, workload};

/// All kinds of `networking.fleet.azure.com`, as a hub needs them.
pub fn networking() -> Vec<CustomResourceDefinition> {
    let mut crds = user_facing();
    crds.extend(
        [
            v1alpha1::InternalServiceExport::crd(),
            v1alpha1::InternalServiceImport::crd(),
            v1alpha1::EndpointSliceExport::crd(),
            v1alpha1::EndpointSliceImport::crd(),
        ]
        .map(finish),
    );
    crds
}

/// What every hub needs beside these, of `multicluster.networking.fleet.azure.com`.
pub fn reports() -> Vec<CustomResourceDefinition> {
    vec![finish(multicluster::ClusterReport::crd())]
}

/// What a hub needs in addition that serves the standard API.
pub fn multicluster() -> Vec<CustomResourceDefinition> {
    [multicluster::ExportedService::crd(), multicluster::ResolvedService::crd()].map(finish).into()
}

/// What a hub needs in addition whose members report what they reach.
pub fn reachability() -> Vec<CustomResourceDefinition> {
    vec![finish(multicluster::ReachReport::crd())]
}

/// What a hub needs in addition whose members run Pods of each other.
pub fn offloading() -> Vec<CustomResourceDefinition> {
    [
        offload::OffloadOffer::crd(),
        offload::VirtualNode::crd(),
        offload::PodExport::crd(),
        offload::PodImport::crd(),
    ]
    .map(finish)
    .into()
}

/// What a hub needs in addition that decides which endpoints get new connections.
pub fn traffic() -> Vec<CustomResourceDefinition> {
    let mut crds = service_traffic();
    crds.extend([traffic::FleetTraffic::crd(), traffic::MemberTraffic::crd()].map(finish));
    crds
}

/// What a member needs for it.
pub fn service_traffic() -> Vec<CustomResourceDefinition> {
    vec![finish(traffic::ServiceTraffic::crd())]
}

/// The kinds of `networking.fleet.azure.com` that a member needs: those its users see.
pub fn user_facing() -> Vec<CustomResourceDefinition> {
    let exports = [v1alpha1::ServiceExport::crd(), v1beta1::ServiceExport::crd()];
    let exports = merge_crds(exports.into(), "v1beta1")
        .expect("both versions are of one kind, and v1beta1 is among them");
    [exports, v1alpha1::ServiceImport::crd(), v1alpha1::MultiClusterService::crd()]
        .map(finish)
        .into()
}

/// The membership kinds, which KubeFleet owns and installs; for clusters without KubeFleet.
pub fn membership() -> Vec<CustomResourceDefinition> {
    [membership::InternalMemberCluster::crd(), membership::MemberCluster::crd()].map(finish).into()
}

/// The kind of external workloads, which Linkerd owns and installs; for clusters without Linkerd.
pub fn external_workloads() -> Vec<CustomResourceDefinition> {
    vec![finish(workload::ExternalWorkload::crd())]
}

#[cfg(test)]
mod tests;
