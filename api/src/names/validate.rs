//! The API server's rules for names.

use super::limits::{LABEL_LIMIT, SUBDOMAIN_LIMIT};

/// Whether the API server accepts `text` as an RFC 1035 label: the name of a Service.
///
/// At most 63 lower-case letters, digits and dashes; starts with a letter, ends with no dash.
pub fn is_dns1035_label(text: &str) -> bool {
    is_dns1123_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase())
}

/// Whether the API server accepts `text` as an RFC 1123 label: the name of a Namespace.
///
/// At most 63 lower-case letters, digits and dashes; no dash at either end.
pub fn is_dns1123_label(text: &str) -> bool {
    text.len() <= LABEL_LIMIT && is_label_text(text)
}

/// Whether the API server accepts `text` as an RFC 1123 subdomain: the name of most objects.
///
/// At most 253 characters: labels joined by dots. As on the API server, only the whole is limited
/// in length, not each label.
pub fn is_dns1123_subdomain(text: &str) -> bool {
    text.len() <= SUBDOMAIN_LIMIT && text.split('.').all(is_label_text)
}

/// Whether the API server accepts `text` as a qualified name, such as an application protocol: at most
/// 63 letters, digits, dashes, underscores and dots, after a DNS prefix with a slash or without.
pub fn is_qualified_name(text: &str) -> bool {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    let at_ends = |b: &u8| b.is_ascii_alphanumeric();
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    prefix.is_none_or(is_dns1123_subdomain)
        && name.len() <= LABEL_LIMIT
        && name.as_bytes().first().is_some_and(at_ends)
        && name.as_bytes().last().is_some_and(at_ends)
        && name.bytes().all(allowed)
}

fn is_label_text(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !text.is_empty() && text.bytes().all(allowed) && !text.starts_with('-') && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::is_qualified_name;

    #[test]
    fn application_protocols_are_qualified_names() {
        for good in
            ["http", "kubernetes.io/h2c", "example.com/My_Protocol.v1", "A", &"x".repeat(63)]
        {
            assert!(is_qualified_name(good), "{good}");
        }
        let long = "x".repeat(64);
        for bad in ["", "/h2c", "a/", "a/b/c", "Upper.io/h2c", "-x", "x-", "a b", "é", &long] {
            assert!(!is_qualified_name(bad), "{bad}");
        }
    }
}
