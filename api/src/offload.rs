//! Kinds of `offload.networking.fleet.azure.com/v1alpha1`: Pods of one member that run in another.
//!
//! The executor's administrators publish an [`OffloadOffer`]; the hub agent makes a [`VirtualNode`] of it for each member that it
//! selects. A Pod that is bound to such a node crosses as a [`PodExport`] in the namespace of its origin, which the hub agent
//! copies into a [`PodImport`] in the namespace of the executor. [`pod_fields`] is the table of what of a Pod may cross.

mod capacity;
mod config_copy;
mod consent;
mod disconnect;
mod offer;
mod peer;
mod pod_export;
pub mod pod_fields;
mod pod_import;
mod pod_template;
mod refusal;
mod remote_status;
mod status_bound;
mod terms;
mod virtual_node;

pub use capacity::{Capacity, Topology};
pub use config_copy::{ConfigCopy, ConfigKind};
pub use consent::{ACCEPT_PREFIX, AcceptedExecutor, CONSENT, OFFER, OriginDns};
pub use disconnect::{Disconnect, DisconnectMode};
pub use offer::{OffloadOffer, OffloadOfferSpec, OffloadOfferStatus, OriginSelector};
pub use peer::{LinkState, PeerLink};
pub use pod_export::{PodExport, PodExportSpec, PodExportStatus, PodRejection};
pub use pod_import::{PodImport, PodImportSpec, PodImportStatus, StopRequest};
pub use pod_template::{OriginPod, PodTemplate};
pub use refusal::Refusal;
pub use remote_status::{
    ContainerState, PodPhase, REMOTE_CONDITIONS, RemoteCondition, RemoteContainer, RemoteLoss,
    RemotePod, RemoteStatus,
};
pub use status_bound::MAX_STATUS_BYTES;
pub use terms::{FIRST_PROFILE, MAX_POD_BYTES, OffloadTerms, PROFILE_VERSION, PolicyProfile};
pub use virtual_node::{
    RegisteredNode, VirtualNode, VirtualNodePhase, VirtualNodeSpec, VirtualNodeStatus,
};

#[cfg(test)]
mod tests;
