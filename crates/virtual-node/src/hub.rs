//! What the hub agent makes of offers and exports. It alone copies between the namespaces of members.

mod hand_over;
mod offer;
mod usage;

pub use hand_over::{
    DEFAULT_GRACE_SECONDS, Destination, HubAction, HubExport, HubImport, hand_over, stop_import,
};
pub use offer::{Selected, virtual_node};
pub use usage::{free, used};

#[cfg(test)]
mod tests;
