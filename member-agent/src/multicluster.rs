//! The standard API of SIG Multicluster, `multicluster.x-k8s.io`.
//!
//! ```text
//!          own cluster                             hub
//! export   ServiceExport + Service  ─────────────▶ ExportedService, in the namespace of this member
//!          EndpointSlice            ─────────────▶ EndpointSliceExport (the controller `export`)
//!          status of the ServiceExport ◀────────── ResolvedService, in the namespace that all members read
//! import   ServiceImport, derived Service ◀────── ResolvedService
//!          EndpointSlices ◀────────────────────── EndpointSliceExports of all other members
//!          EndpointSlices ◀── EndpointSlices of this cluster
//! ```
//!
//! What a Service is exported by is decided in [`intent`](crate::intent).

pub mod export;
pub mod import;
