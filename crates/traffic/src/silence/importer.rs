use std::collections::BTreeSet;

use crate::silence::bound::{failures, most_silent};

/// A verdict of the hub agent, as an importer reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SilentMember {
    /// Name of the member.
    pub name: String,
    /// Serial of its `MemberTraffic`.
    pub serial: u64,
    /// Whether an administrator has confirmed it.
    pub confirmed: bool,
    /// Its value of the property that names failure domains.
    pub domain: Option<String>,
}

/// The verdicts that an importer applies, of those it reads: all that are confirmed, and of the others, those applied already
/// and then the oldest, no more than the hub agent may pass. So a hub agent that judges wrongly cannot demote a fleet.
pub fn applied<'a>(
    silent: &'a [SilentMember],
    before: &BTreeSet<String>,
    members: usize,
    max_silent_percent: u8,
) -> BTreeSet<&'a str> {
    let (confirmed, mut others): (Vec<_>, Vec<_>) = silent.iter().partition(|one| one.confirmed);
    others.sort_by_key(|one| (!before.contains(&one.name), one.serial, &one.name));
    let most = most_silent(members, max_silent_percent);
    let within =
        |count: &usize| failures(others[..*count].iter().map(|one| one.domain.as_deref())) <= most;
    let count = (0..=others.len()).rev().find(within).unwrap_or(0);
    others.truncate(count);
    confirmed.into_iter().chain(others).map(|one| one.name.as_str()).collect()
}
