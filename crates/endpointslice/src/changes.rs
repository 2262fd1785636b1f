//! Changes to the slices of one address type, and what is measured about them.

use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::ports::PortKey;
use crate::{AddressType, trigger_time};

/// Writes to the slices of one address type: creates, then updates, then deletes.
///
/// A create that fails because its namespace is being deleted ends the type without an error. Deletes are by name; one
/// that finds nothing has succeeded.
#[derive(Clone, Debug)]
pub struct Changes<'a> {
    /// The address type.
    pub address_type: AddressType,
    /// Slices to create.
    pub creates: Vec<EndpointSlice>,
    /// Slices to update.
    pub updates: Vec<Update<'a>>,
    /// Slices to delete.
    pub deletes: Vec<&'a EndpointSlice>,
    /// For the metrics.
    pub measures: Measures,
}

/// An update of a slice, conditional on the version that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Update<'a> {
    /// As it should be.
    pub slice: EndpointSlice,
    /// As it is.
    pub of: &'a EndpointSlice,
    /// Whether it is a new slice under an old name.
    pub recycled: bool,
}

/// What is measured about one address type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measures {
    /// Endpoints that were in no slice.
    pub added: usize,
    /// Endpoints dropped from slices that stay in use by their ports.
    pub removed: usize,
    /// Slices to write, with creates that are withheld from a Service being deleted.
    pub changed: usize,
    /// Whether hints follow the topology annotation.
    pub topology: bool,
    /// The traffic distribution that hints follow.
    pub traffic_distribution: Option<&'static str>,
    /// Size of each port group.
    pub groups: Vec<GroupSize>,
}

/// Size of one port group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupSize {
    /// Endpoints in it.
    pub endpoints: usize,
    /// Slices it is packed into.
    pub slices: usize,
}

/// What becomes of the slices of one address type.
#[derive(Debug, Default)]
pub(crate) struct Packed<'a> {
    pub(crate) creates: Vec<EndpointSlice>,
    pub(crate) updates: Vec<Update<'a>>,
    pub(crate) deletes: Vec<&'a EndpointSlice>,
    pub(crate) unchanged: Vec<&'a EndpointSlice>,
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

impl Packed<'_> {
    /// How many endpoints the slices that stay or come hold.
    pub(crate) fn endpoints(&self) -> usize {
        let updated = self.updates.iter().map(|update| &update.slice);
        let slices = self.creates.iter().chain(updated).chain(self.unchanged.iter().copied());
        slices.map(|slice| slice.endpoints.len()).sum()
    }

    /// Adds what becomes of another group's slices.
    pub(crate) fn extend(&mut self, other: Self) {
        self.creates.extend(other.creates);
        self.updates.extend(other.updates);
        self.deletes.extend(other.deletes);
        self.unchanged.extend(other.unchanged);
        self.added += other.added;
        self.removed += other.removed;
    }
}

impl Update<'_> {
    /// Whether nothing would change but the trigger time, which only accompanies other changes.
    pub(crate) fn is_needless(&self) -> bool {
        let (new, old) = (&self.slice, self.of);
        new.metadata.labels == old.metadata.labels
            && new.metadata.owner_references == old.metadata.owner_references
            && PortKey::of(new.ports.as_deref()) == PortKey::of(old.ports.as_deref())
            && new.endpoints == old.endpoints
            && trigger_time::others(new).eq(trigger_time::others(old))
    }
}
