//! Whether the ranges of the Pods of two members overlap: then one address means two Pods, and there is no virtual node.

use fleet_api::kinds;
use fleet_api::names::member_namespace;
use fleet_model::cidr::Cidrs;
use fleet_model::objects::MemberPolicy;
use kube::Client;

use crate::objects::find;
use crate::output::report;

/// Key of a member policy with the ranges of the member's Pods.
const CIDRS: &str = "cidrs";

/// The ranges of a member's Pods, as its policy on the hub has them; empty if that is not known.
pub(super) async fn of(hub: &Client, member: &str) -> String {
    let namespace = member_namespace(member);
    let policy = find(hub, kinds::CONFIG_MAP, Some(&namespace), MemberPolicy::NAME).await;
    let policy = policy.ok().flatten();
    let ranges = policy.and_then(|policy| policy.data["data"][CIDRS].as_str().map(str::to_owned));
    ranges.unwrap_or_default()
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
}
