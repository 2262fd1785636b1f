//! Exports and requests, as far as they are refused for the same reasons.

use fleet_accumulator::Tracked;
use fleet_model::objects::{HasMeta, InternalServiceExport, InternalServiceImport, PolicyLists};
use fleet_model::service_list::ServiceList;

/// What can be refused, and can be in force from before there was a reason to refuse it.
pub(super) trait Refusable: Tracked + HasMeta {
    /// What it does with its Service.
    const VERB: &str;

    /// Whether it is in force.
    fn in_force(&self) -> bool;

    /// The list of a member policy that is about it.
    fn list(lists: &PolicyLists) -> &ServiceList;
}

impl Refusable for InternalServiceExport {
    const VERB: &str = "exports";

    fn in_force(&self) -> bool {
        self.is_in_force()
    }

    fn list(lists: &PolicyLists) -> &ServiceList {
        &lists.exports
    }
}

impl Refusable for InternalServiceImport {
    const VERB: &str = "imports";

    fn in_force(&self) -> bool {
        !self.status.is_empty()
    }

    fn list(lists: &PolicyLists) -> &ServiceList {
        &lists.imports
    }
}
