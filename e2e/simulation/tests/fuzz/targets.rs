//! What is read.

pub(crate) mod credentials;
pub(crate) mod names;
pub(crate) mod notes;
pub(crate) mod objects;
pub(crate) mod plans;
pub(crate) mod recordings;
pub(crate) mod selectors;
pub(crate) mod texts;

use crate::cost::Bound;

/// One kind of input.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// Whether inputs are JSON, so that their structure is changed.
    pub(crate) is_json: bool,
    /// Inputs in a short run.
    pub(crate) short: u32,
    /// What reading may cost.
    pub(crate) bound: Option<Bound>,
    /// Inputs to begin with, beside those of the corpus.
    pub(crate) examples: fn() -> Vec<Vec<u8>>,
    /// Reads an input, and panics if something is wrong about that.
    pub(crate) read: fn(&[u8]),
}
