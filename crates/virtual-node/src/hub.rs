//! What the hub agent makes of offers and exports. It alone copies between the namespaces of members.

mod hand_over;
mod offer;

pub use hand_over::{DEFAULT_GRACE_SECONDS, HubAction, HubExport, HubImport, hand_over};
pub use offer::{Selected, virtual_node};

#[cfg(test)]
mod tests;
