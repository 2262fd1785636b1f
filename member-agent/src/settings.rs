//! The settings of the member agent, as its controllers read them.

mod derived_services;
mod import_namespaces;
mod mode;
mod multicluster;
mod reachability;
mod reserved_addresses;
mod traffic;
mod virtual_node;

use std::time::Duration;

pub use derived_services::{DerivedServiceType, DerivedServices};
pub use fleet_model::multicluster::mode::Mode as MulticlusterMode;
pub use import_namespaces::ImportNamespaces;
pub use mode::Mode;
pub use multicluster::Multicluster;
pub use reachability::Reachability;
pub use reserved_addresses::{AllowedReservedCidrs, ReservedAddresses};
pub use traffic::Traffic;
pub use virtual_node::VirtualNodes;

use fleet_model::cidr::Cidrs;
use fleet_model::denied_namespaces::DeniedNamespaces;

use crate::Identity;

/// Default time that a derived Service is kept after its last exporter is gone.
pub(crate) const DERIVED_SERVICE_GRACE: Duration = Duration::from_mins(1);

/// Default maximum number of endpoints per EndpointSlice, as in kube-controller-manager.
pub(crate) const MAX_ENDPOINTS_PER_SLICE: usize = 100;

/// Default namespace of Linkerd's control plane, as Linkerd's own tools choose it.
pub(crate) const LINKERD_NAMESPACE: &str = "linkerd";

/// Settings of the controllers. A plan depends on these, on a snapshot and on the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Which member this is.
    pub identity: Identity,
    /// Time that a derived Service, and with it its address, is kept after its last exporter is gone.
    pub derived_service_grace: Duration,
    /// How derived Services are made.
    pub derived_services: DerivedServices,
    /// Whether Services are exported and imported. If not, the agent only reports to the hub, and reports that
    /// it has left without checking that nothing remains.
    pub networking: bool,
    /// How the standard API of SIG Multicluster is served. It needs the networking features.
    pub multicluster: Multicluster,
    /// Namespaces whose Services are neither exported nor imported.
    pub denied_namespaces: DeniedNamespaces,
    /// Which addresses endpoints of other clusters must not have here.
    pub reserved_addresses: ReservedAddresses,
    /// Whether EndpointSlices are made of ExternalWorkloads, if that kind is served.
    pub external_workloads: bool,
    /// Ranges that the addresses of ExternalWorkloads are in; any if there is none.
    pub external_workload_cidrs: Cidrs,
    /// Namespace of Linkerd's control plane, whose controller of ExternalWorkloads may make these EndpointSlices.
    pub linkerd_namespace: String,
    /// For which Services EndpointSlices are made of pods.
    pub endpointslices: Mode,
    /// Ranges that the addresses of pods on secondary networks are in; any if there is none.
    pub endpoint_network_cidrs: Cidrs,
    /// Maximum number of endpoints per EndpointSlice made of pods.
    pub max_endpoints_per_slice: usize,
    /// Time for which changes of pods are collected before EndpointSlices are written.
    pub endpointslice_batch_period: Duration,
    /// What is done with Pods of other members, and for them.
    pub virtual_nodes: VirtualNodes,
    /// Whether policies, drains and verdicts decide which endpoints get new connections.
    pub traffic: Traffic,
    /// What is dialled to prove that imported Services are reached.
    pub reachability: Reachability,
}

impl Settings {
    /// Whether all EndpointSlices are watched, whatever manages them.
    pub fn watches_all_slices(&self) -> bool {
        self.networking || self.external_workloads || self.virtual_nodes.is_on()
    }

    /// The settings of the member `cluster` with the defaults of the flags.
    pub fn new(cluster: impl Into<String>) -> Self {
        Self {
            identity: Identity::new(cluster),
            derived_service_grace: DERIVED_SERVICE_GRACE,
            derived_services: DerivedServices::default(),
            networking: true,
            multicluster: Multicluster::default(),
            denied_namespaces: DeniedNamespaces::default(),
            reserved_addresses: ReservedAddresses::default(),
            external_workloads: false,
            external_workload_cidrs: Cidrs::default(),
            linkerd_namespace: LINKERD_NAMESPACE.to_owned(),
            endpointslices: Mode::Off,
            endpoint_network_cidrs: Cidrs::default(),
            max_endpoints_per_slice: MAX_ENDPOINTS_PER_SLICE,
            endpointslice_batch_period: Duration::ZERO,
            virtual_nodes: VirtualNodes::default(),
            traffic: Traffic::default(),
            reachability: Reachability::default(),
        }
    }
}
