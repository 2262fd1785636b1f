use std::collections::BTreeSet;

/// Members that may be silent by verdict at once: one, or the percentage of all, rounded down.
pub(crate) fn most_silent(members: usize, percent: u8) -> usize {
    (members * usize::from(percent.min(100)) / 100).max(1)
}

/// How many failures a set of silent members is. Members that all have the same value of the property that an administrator
/// has named as a failure domain count as one.
pub(crate) fn failures<'a>(silent: impl Iterator<Item = Option<&'a str>>) -> usize {
    let domains: Vec<_> = silent.collect();
    let distinct: BTreeSet<_> = domains.iter().collect();
    match distinct.first() {
        Some(Some(_)) if distinct.len() == 1 => 1,
        _ => domains.len(),
    }
}
