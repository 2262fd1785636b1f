//! Kinds of `multicluster.networking.fleet.azure.com/v1alpha1`: additions to the original, in a group that neither its
//! definitions nor the roles of KubeFleet know. [`standard`] are the kinds of the API that Kubernetes has agreed on.

mod cluster_report;
mod exported_service;
mod properties;
mod reach_report;
mod resolved_service;
pub mod standard;

pub use cluster_report::{ClusterReport, ClusterReportSpec, ClusterReportStatus};
pub use exported_service::{
    ExportedService, ExportedServiceSpec, ExportedServiceStatus, ServiceExportReference,
};
pub use properties::{
    InternalTrafficPolicy, IpFamily, ServicePort, ServiceProperties, ServiceReference, ServiceType,
    SessionAffinity,
};
pub use reach_report::{
    MAX_REACHED, MAX_TROUBLES, ReachApi, ReachHop, ReachReport, ReachReportSpec, ReachTrouble,
    ReachedExporter,
};
pub use resolved_service::{
    Conflict, ConflictReason, Exporter, ResolvedService, ResolvedServiceSpec,
};
