//! As much of Prometheus' language as it takes to find names of metrics and labels in a query.

use std::collections::BTreeSet;

const WORDS: [&str; 16] = [
    "and",
    "or",
    "unless",
    "by",
    "without",
    "on",
    "ignoring",
    "group_left",
    "group_right",
    "offset",
    "bool",
    "inf",
    "nan",
    "start",
    "end",
    "atan2",
];

/// What a query names.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Named {
    /// Metrics, each with the labels that are asked of it.
    pub(crate) metrics: Vec<(String, BTreeSet<String>)>,
    /// Labels that series are grouped by or joined on.
    pub(crate) groups: BTreeSet<String>,
}

/// Names in `query`. Units of durations (`5m`) are no names.
pub(crate) fn named(query: &str) -> Named {
    let mut named = Named::default();
    let tokens = tokens(query);
    let (mut in_braces, mut in_group) = (false, false);
    for (index, token) in tokens.iter().enumerate() {
        let next = tokens.get(index + 1).map_or("", String::as_str);
        let before = index.checked_sub(1).map_or("", |before| &tokens[before]);
        match token.as_str() {
            "{" => in_braces = true,
            "}" => in_braces = false,
            "(" => in_group = ["by", "on", "without", "ignoring"].contains(&before),
            ")" => in_group = false,
            name if !name.starts_with(|first: char| first.is_alphabetic() || first == '_') => {}
            name if in_braces => {
                let (_, labels) = named.metrics.last_mut().expect("braces follow a metric");
                labels.insert(name.to_owned());
            }
            name if in_group => {
                named.groups.insert(name.to_owned());
            }
            name if ["(", "by", "without"].contains(&next) || WORDS.contains(&name) => {}
            name => named.metrics.push((name.to_owned(), BTreeSet::new())),
        }
    }
    named
}

/// Words and single signs; texts and what is in square brackets are left out.
fn tokens(query: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = query.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |sign: char| sign.is_alphanumeric() || "_:.".contains(sign);
        let length = match first {
            '"' => 2 + rest[1..].find('"').expect("a text ends"),
            '[' => 1 + rest.find(']').expect("a range ends"),
            _ if is_word(first) => rest.find(|sign| !is_word(sign)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        if !['"', '['].contains(&first) {
            tokens.push(rest[..length].to_owned());
        }
        rest = rest[length..].trim_start();
    }
    tokens
}

/// Labels in `{{ $labels.x }}` of an alert or `{{x}}` of a dashboard.
pub(crate) fn placeholders(text: &str) -> BTreeSet<String> {
    let inner = text.split("{{").skip(1).filter_map(|part| part.split("}}").next());
    let label = |inner: &str| {
        let inner = inner.trim();
        let name = inner.strip_prefix("$labels.").unwrap_or(inner);
        (!name.starts_with('$')).then(|| name.to_owned())
    };
    inner.filter_map(label).collect()
}

#[test]
fn names_in_a_query_are_found() {
    let query = "sum by (controller) (rate(a_total{x=~\"b|c\",y!=\"(\"}[5m]) and on (job) b) > 0.1";
    let found = named(query);
    let labels = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(
        found,
        Named {
            metrics: vec![
                ("a_total".to_owned(), labels(&["x", "y"])),
                ("b".to_owned(), labels(&[]))
            ],
            groups: labels(&["controller", "job"]),
        }
    );
    let text = "of {{ $labels.member }}: {{ $value | humanize }} {{stage}}";
    assert_eq!(placeholders(text), labels(&["member", "stage"]));
}
