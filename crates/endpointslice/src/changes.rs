//! Changes to the slices of one address type, and their measurements.

use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::ports::PortKey;
use crate::{AddressType, trigger_time};

/// Writes to the slices of one address type: creates, then updates, then deletes.
///
/// If a create fails because its namespace is being deleted, the remaining writes of the type are skipped without an
/// error. Deletes are by name; a delete of an absent slice counts as done.
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
    /// Measurements for metrics.
    pub measures: Measures,
}

/// An update of a slice, conditional on the version that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Update<'a> {
    /// The desired slice.
    pub slice: EndpointSlice,
    /// The current slice.
    pub of: &'a EndpointSlice,
    /// Whether it gives new content to a slice that would be deleted otherwise.
    pub recycled: bool,
}

/// Measurements of one address type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measures {
    /// Endpoints added: those that were in no slice.
    pub added: usize,
    /// Endpoints removed from slices whose ports are still in use.
    pub removed: usize,
    /// Slices to write, including creates that are skipped because the Service is being deleted.
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

/// The slices of one address type, by what happens to them.
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
    /// Number of endpoints in all slices that exist after the writes.
    pub(crate) fn endpoints(&self) -> usize {
        let updated = self.updates.iter().map(|update| &update.slice);
        let slices = self.creates.iter().chain(updated).chain(self.unchanged.iter().copied());
        slices.map(|slice| slice.endpoints.len()).sum()
    }

    /// Adds the slices of another port group.
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
    /// Whether it would change nothing but the trigger time, which alone is no reason to write.
    pub(crate) fn is_needless(&self) -> bool {
        let (new, old) = (&self.slice, self.of);
        new.metadata.labels == old.metadata.labels
            && new.metadata.owner_references == old.metadata.owner_references
            && PortKey::of(new.ports.as_deref()) == PortKey::of(old.ports.as_deref())
            && new.endpoints == old.endpoints
            && trigger_time::others(new).eq(trigger_time::others(old))
    }
}
