//! Validation rules that several kinds share.

use kube::core::Rule;

/// Limits names to 63 characters, so that they fit into a label: for kinds whose names become Service names.
pub(crate) fn name_rule() -> Rule {
    Rule::new("size(self.metadata.name) < 64").message("metadata.name max length is 63")
}
