//! The API server's rules for names.

use super::{LABEL_LIMIT, SUBDOMAIN_LIMIT};

/// Whether the API server takes `text` as an RFC 1035 label: the name of a Service.
///
/// At most 63 lower-case letters, digits and dashes; starts with a letter, ends with no dash.
pub fn is_dns1035_label(text: &str) -> bool {
    is_dns1123_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase())
}

/// Whether the API server takes `text` as an RFC 1123 label: the name of a Namespace.
///
/// At most 63 lower-case letters, digits and dashes; no dash at either end.
pub fn is_dns1123_label(text: &str) -> bool {
    text.len() <= LABEL_LIMIT && is_label_text(text)
}

/// Whether the API server takes `text` as an RFC 1123 subdomain: the name of most objects.
///
/// At most 253 characters: labels joined by dots. As on the API server, only the whole is limited
/// in length, not each label.
pub fn is_dns1123_subdomain(text: &str) -> bool {
    text.len() <= SUBDOMAIN_LIMIT && text.split('.').all(is_label_text)
}

fn is_label_text(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !text.is_empty() && text.bytes().all(allowed) && !text.starts_with('-') && !text.ends_with('-')
}
