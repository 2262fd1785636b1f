//! Kinds of `multicluster.networking.fleet.azure.com/v1alpha1`: additions to the original, in a group that neither its
//! definitions nor the roles of KubeFleet know.

mod cluster_report;

pub use cluster_report::{ClusterReport, ClusterReportSpec, ClusterReportStatus};
