//! The defect of an object without a spec.

/// Why such an object cannot be decoded.
pub(super) const MISSING: &str = "spec is missing";
