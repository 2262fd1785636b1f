//! The wire of the fleet: custom resource types, names, labels, annotations, finalizers and conditions.
//!
//! No client and no runtime: everything here is data and pure functions of it.

pub mod annotations;
pub mod conditions;
pub mod events;
pub mod finalizers;
pub mod labels;
pub mod names;
mod object_name;
mod resource_kind;

pub use object_name::ObjectName;
pub use resource_kind::{ResourceKind, kinds};
