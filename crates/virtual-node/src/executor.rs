//! What an executor makes of an import, and what it reports.

mod changes;
mod cut_off;
mod decide;
mod namespace;
mod observe;
mod pod;
mod refused;

pub use changes::{changes, spec_hash_of};
pub use cut_off::{cut_off, stop_after};
pub use decide::{Execution, execute};
pub use namespace::namespace_documents;
pub use observe::{Gone, observe};
pub use pod::{config_documents, pod_document, waits_for_configs};
pub use refused::{Refused, retry_pause};

#[cfg(test)]
mod tests;
