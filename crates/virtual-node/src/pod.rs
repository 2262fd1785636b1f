//! What of a Pod crosses: translation in its origin, and the check of it on the hub and in the cluster of the executor.
//!
//! All three use one walk over one table, [`fleet_api::offload::pod_fields`]: what the origin makes of a Pod is what the others
//! accept, and nothing else is.

mod check;
mod checks;
mod hash;
mod local;
mod metadata;
mod path;
mod profile;
mod references;
mod rejection;
mod substitute;
mod terms;
mod token;
pub(crate) mod translate;
mod walk;

pub use check::check;
pub use checks::accepts;
pub use hash::spec_hash;
pub use local::{Deletion, LocalPod};
pub use metadata::label_key;
pub use references::{ConfigReference, references, references_to_read, rename};
pub use rejection::Rejection;
pub use substitute::origin_value;
pub use terms::origin_terms;
pub use translate::{DnsOption, translate};
pub(crate) use translate::{identity, with_contents};

#[cfg(test)]
mod tests;
