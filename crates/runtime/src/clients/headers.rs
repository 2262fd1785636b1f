//! Headers that users want on each request to the hub: what a gateway in front of it asks for.

use http::header::{HeaderName, HeaderValue};

/// Names that the client sets itself, or that would change what a request is.
const RESERVED: [&str; 14] = [
    "accept",
    "accept-encoding",
    "authorization",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];

/// Reads header lines: `Name: value`, one a line. A line that begins with a blank goes on with the
/// one before. No error repeats a value, which may be a secret.
pub(super) fn parse(text: &str) -> Result<Vec<(HeaderName, HeaderValue)>, String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match lines.last_mut() {
            Some(last) if line.starts_with([' ', '\t']) => {
                last.push(' ');
                last.push_str(line.trim());
            }
            _ => lines.push(line.trim_end().to_owned()),
        }
    }
    lines.iter().enumerate().map(|(index, line)| header(index + 1, line)).collect()
}

fn header(number: usize, line: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) = line
        .split_once(':')
        .ok_or_else(|| format!("header {number} is not of the form Name: value"))?;
    let name: HeaderName =
        name.parse().map_err(|_| format!("header {number} has a name that no header may have"))?;
    if RESERVED.contains(&name.as_str()) {
        return Err(format!("the header {name} is set by the agent itself"));
    }
    let mut value: HeaderValue = (value.trim().parse())
        .map_err(|_| format!("the header {name} has a value that no header may have"))?;
    value.set_sensitive(true);
    Ok((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_headers() {
        let headers = parse("X-Gateway: east\r\nx-key:  s3cret \r\n  and more\r\n\r\n").unwrap();
        let texts: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        assert_eq!(texts, [("x-gateway", "east"), ("x-key", "s3cret and more")]);
        assert!(!format!("{headers:?}").contains("s3cret"));
        assert_eq!(parse(""), Ok(vec![]));
    }

    #[test]
    fn what_is_no_header_is_refused_without_telling_its_value() {
        for (text, reason) in [
            ("s3cret", "header 1 is not of the form"),
            ("X-One: 1\ns3cret", "header 2 is not of the form"),
            ("a b: s3cret", "header 1 has a name"),
            ("x: s3cret\u{7f}", "the header x has a value"),
            ("Authorization: s3cret", "authorization is set by the agent"),
            ("HOST: s3cret", "host is set by the agent"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(reason) && !error.contains("s3cret"), "{error}");
        }
    }
}
