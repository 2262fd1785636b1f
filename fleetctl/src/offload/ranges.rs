//! Whether the ranges of the Pods of two members overlap: then one address means two Pods, and there is no virtual node.

use anyhow::{Result, bail};
use fleet_api::kinds;
use fleet_api::names::member_namespace;
use fleet_model::cidr::Cidrs;
use fleet_model::objects::MemberPolicy;
use kube::Client;
use kube::api::DynamicObject;

use crate::objects::find;
use crate::output::report;

/// Key of a member policy with the ranges of the member's Pods.
const CIDRS: &str = "cidrs";

/// The ranges of a member's Pods, as its policy on the hub has them; empty if it has none.
///
/// # Errors
/// If the hub does not answer, or does not let the user read it.
pub(super) async fn of(hub: &Client, member: &str) -> Result<String> {
    let namespace = member_namespace(member);
    let policy = find(hub, kinds::CONFIG_MAP, Some(&namespace), MemberPolicy::NAME).await?;
    Ok(policy.as_ref().map(in_policy).unwrap_or_default())
}

/// The ranges of a member's Pods in its policy.
pub(super) fn in_policy(policy: &DynamicObject) -> String {
    policy.data["data"][CIDRS].as_str().unwrap_or_default().to_owned()
}

/// Whether a range has all addresses of a family.
pub(super) fn is_open(range: &str) -> bool {
    range.rsplit_once('/').is_some_and(|(_, prefix)| prefix.parse() == Ok(0_u8))
}

/// Whether one of the ranges in a member policy has all addresses of a family.
pub(crate) fn has_open(ranges: &str) -> bool {
    ranges.split(',').map(str::trim).any(is_open)
}

/// Checks that Services of an origin may have the addresses of an executor: with all addresses of a family P5 would check nothing.
///
/// # Errors
/// One line with the reason, and what to do.
pub(super) fn check(origin: (&str, &str), executor: (&str, &str)) -> Result<()> {
    let (name, ranges) = executor;
    if has_open(ranges) {
        bail!(
            "{name} has no ranges of its own ({ranges}), so that {} could export any address as one of {name}, and there is no node. \
             fleetctl join {name} --cidrs RANGES-OF-ITS-PODS --print nothing",
            origin.0
        );
    }
    match overlap(origin, executor) {
        Some(text) => bail!(text),
        None => Ok(()),
    }
}

/// Reports that ranges overlap.
pub(super) fn warn(origin: (&str, &str), executor: (&str, &str)) {
    if let Some(text) = overlap(origin, executor) {
        report(&text);
    }
}

/// What is reported to users if the ranges of an origin and its executor overlap. Those that cannot be read are reported elsewhere.
fn overlap((origin, own): (&str, &str), (executor, others): (&str, &str)) -> Option<String> {
    let read = |text: &str| text.parse::<Cidrs>().unwrap_or_default();
    read(own).overlap(&read(others)).then(|| {
        format!(
            "The ranges of the Pods of {origin} ({own}) and {executor} ({others}) overlap: there is no node before both have ranges \
             of their own. fleetctl join NAME --cidrs RANGES-OF-ITS-PODS --print nothing"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_joined_without_ranges_overlaps_everything() {
        let of = |own, other| overlap(("east", own), ("west", other)).is_some();
        assert!(of("0.0.0.0/0,::/0", "10.2.0.0/16"));
        assert!(of("10.0.0.0/8", "10.2.0.0/16"));
        assert!(!of("10.1.0.0/16,fd01::/48", "10.2.0.0/16,fd02::/48"));
        assert!(!of("", "10.2.0.0/16") && !of("nonsense", "10.2.0.0/16"));
    }

    #[test]
    fn an_executor_with_all_addresses_is_refused() {
        let error = |own, others| {
            let checked = check(("east", own), ("west", others));
            checked.err().map(|error| error.to_string()).unwrap_or_default()
        };
        for open in ["0.0.0.0/0,::/0", "10.2.0.0/16, ::/0"] {
            let text = error("10.1.0.0/16", open);
            assert!(text.starts_with(&format!("west has no ranges of its own ({open})")), "{text}");
            assert!(text.contains("fleetctl join west --cidrs"), "{text}");
            assert_eq!(error("", open), text, "whatever the origin has");
        }
        let text = error("0.0.0.0/0", "10.2.0.0/16");
        assert!(text.starts_with("The ranges of the Pods of east (0.0.0.0/0) and west"), "{text}");
        assert_eq!(error("10.1.0.0/16", "10.2.0.0/16,fd00::/64"), "");
        assert_eq!(error("10.1.0.0/16", ""), "");
        assert!(!is_open("10.0.0.0/10") && !is_open("nonsense") && is_open("0.0.0.0/0"));
    }
}
