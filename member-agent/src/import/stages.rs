//! What each stage of an import hands over to the next.

use fleet_api::{ObjectName, ServiceImportStatus};
use fleet_model::limits::Excess;
use fleet_plan::StepId;

/// The MultiClusterService that holds the import, once it has finalizer and labels.
#[derive(Debug)]
pub(super) struct Prepared {
    /// Name of the derived Service; `None` if every candidate is taken.
    pub(super) derived: Option<ObjectName>,
    /// The step of this plan that writes finalizer and labels; `None` if they are in place.
    pub(super) write: Option<StepId>,
}

/// The ServiceImport and the request for it on the hub.
#[derive(Debug, Default)]
pub(super) struct Import {
    /// What the hub granted; `None` while nothing is granted that can be imported.
    pub(super) granted: Option<ServiceImportStatus>,
    /// What exceeds a bound in what the hub granted, if anything does.
    pub(super) excess: Option<Excess>,
    /// The step of this plan after which the ServiceImport no longer exists.
    pub(super) gone: Option<StepId>,
    /// Where the import has no ServiceImport of its own: the steps of this plan after which the request no longer
    /// exists.
    pub(super) unasked: Vec<StepId>,
}
