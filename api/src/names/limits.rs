//! Lengths of names that the API server accepts.

/// Maximum length of an RFC 1123 subdomain, the limit of most object names.
pub const SUBDOMAIN_LIMIT: usize = 253;
/// Maximum length of an RFC 1123 or RFC 1035 label, the limit of Service and Namespace names.
pub const LABEL_LIMIT: usize = 63;
