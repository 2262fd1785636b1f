//! Where the Pods of a virtual node run: the seam for other backends.
//!
//! A provider is a function of what it observes: it returns the writes that are missing and sends none. So one call creates or
//! updates, by uid, and making it again makes no second Pod; what runs is a view and not a stream of callbacks, and nothing
//! blocks. `tests` has the contract, which all providers meet.

mod backend;
mod cluster;
mod hub;
mod write;

pub use backend::{Provider, ProviderError};
pub use cluster::ClusterProvider;
pub(crate) use cluster::stop;
pub use hub::HubProvider;
pub use write::{Write, WriteAction};

#[cfg(test)]
mod tests;
