//! Fields of a Pod as texts.

use std::collections::BTreeMap;

/// A map as sorted lines `key="value"` without a final newline.
pub fn as_lines(map: &BTreeMap<String, String>) -> String {
    let lines: Vec<_> = map.iter().map(|(key, value)| format!("{key}={value:?}")).collect();
    lines.join("\n")
}

/// The list and the key of a path such as `metadata.labels['app']`.
pub fn subscript(path: &str) -> Option<(&str, &str)> {
    let (list, rest) = path.split_once("['")?;
    let key = rest.strip_suffix("']")?;
    ["metadata.labels", "metadata.annotations"].contains(&list).then_some((list, key))
}
