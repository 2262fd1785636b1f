//! The name that both controllers of this folder have.

/// Name in metrics and logs, and of the stage of their writes.
pub(super) const NAME: &str = "endpointslices";
