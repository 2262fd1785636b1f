//! Objects in members' namespaces on the hub.

use fleet_accumulator::Object;
use fleet_model::objects::{EndpointSliceExport, InternalServiceExport, InternalServiceImport};

/// An object in a member's namespace on the hub.
#[derive(Debug)]
pub struct Owned<'a, T> {
    /// Name of the member cluster.
    pub member: &'a str,
    /// The object.
    pub object: &'a Object<T>,
}

// Derived implementations would require `T: Copy`.
impl<T> Clone for Owned<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Owned<'_, T> {}

/// A member's export of the Service.
pub type Export<'a> = Owned<'a, InternalServiceExport>;
/// A member's request to import the Service.
pub type Request<'a> = Owned<'a, InternalServiceImport>;
/// A slice of the Service that a member exports.
pub type SliceExport<'a> = Owned<'a, EndpointSliceExport>;
