//! The status of a Pod: from the executor to the origin.

mod addresses;
mod document;
mod link;
mod pace;
mod translate;

pub use addresses::{Addresses, believed};
pub use document::{REPORTED, container_document, document};
pub use link::Link;
pub use pace::{Pace, pace};
pub use translate::{DesiredStatus, pending, rejected, translate};

#[cfg(test)]
mod tests;
