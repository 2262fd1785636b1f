//! The fleet at one moment, as the page shows it.

use std::sync::Arc;

use jiff::Timestamp;

use crate::view::View;

/// The fleet at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// When it was seen.
    pub at: Timestamp,
    /// What was seen.
    pub view: Arc<View>,
}
