//! Pods of one member in another ([design](../../../docs/design/virtual-node.md)).
//!
//! ```text
//!            own cluster                              hub, namespace of this member
//! origin     Node fleet-<executor>, its Pods ───────▶ PodExport
//!            status of the Pods        ◀───────────── its status
//! executor   Pod in offload-<origin>--<namespace> ◀── PodImport
//!            status of the Pod         ─────────────▶ its status
//! ```
//!
//! All decisions about Pods and Nodes are those of `crates/virtual-node`; these controllers look up what they depend on, and make
//! writes of them. What depends on how long something has been so is asked for at [`Links`](crate::links::Links).

pub mod executor;
pub mod origin;
mod steps;

#[cfg(test)]
mod tests;
