//! What is watched for Pods of one member that run in another.
//!
//! Pods and Nodes are kept as JSON: a type would drop fields that are newer than itself, and each of these has to refuse its Pod.

mod config_content;
mod consent;
mod hearing;
mod node_document;
mod offer;
mod pod_document;
mod pod_export;
mod pod_import;
mod shared_spec;
mod virtual_node;

pub use config_content::{ConfigContentWire, ConfigMapContent, SecretContent, SecretContentWire};
pub use consent::{OffloadConsent, OffloadConsentWire};
pub use hearing::Hearing;
pub use node_document::{NodeDocument, NodeDocumentWire};
pub use offer::{OffloadOffer, OffloadOfferWire};
pub use pod_document::{PodDocument, PodDocumentWire, PodIndex};
pub use pod_export::{PodExport, PodExportWire};
pub use pod_import::{PodImport, PodImportWire};
pub use virtual_node::{VirtualNode, VirtualNodeWire};
