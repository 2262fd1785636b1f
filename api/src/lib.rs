//! The wire of the fleet: custom resource types, names, labels, annotations, finalizers and conditions.
//!
//! No client and no runtime: everything here is data and pure functions of it.

mod object_name;

pub use object_name::ObjectName;
