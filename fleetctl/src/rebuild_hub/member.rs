//! What is known of a member. Data only.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::credential::Place;
use crate::member_objects::MANAGED_BY;

/// A member, as far as the hub, its cluster and the kubeconfig show it.
#[derive(Clone, Debug, Default)]
pub(super) struct Member {
    /// The policy that the hub has for it.
    pub(super) policy: Option<Value>,
    /// Who has made its namespace on the hub.
    pub(super) maker: Maker,
    /// Context of its cluster, if the kubeconfig has one. Without it a command would go by the member's name.
    pub(super) context: Option<String>,
    /// Where its agent has its credential from, if its cluster could be read.
    pub(super) place: Option<Place>,
}

/// Who has made the namespace of a member on the hub.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Maker {
    /// The chart of the hub agent, whose value `members` names the member.
    Chart,
    /// `fleetctl join`.
    Join,
    /// KubeFleet, or an administrator.
    Other,
    /// The hub does not show it.
    #[default]
    Unknown,
}

impl Maker {
    /// By the labels of the namespace.
    pub(super) fn of(labels: &BTreeMap<String, String>) -> Self {
        let label = |key: &str| labels.get(key).map(String::as_str);
        let is_ours = label("app.kubernetes.io/part-of") == Some("fleet-networking");
        match label(MANAGED_BY.0) {
            Some("Helm") if is_ours => Self::Chart,
            Some(by) if by == MANAGED_BY.1 => Self::Join,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_show_who_has_made_a_namespace() {
        let by = ("app.kubernetes.io/managed-by", "Helm");
        let ours = ("app.kubernetes.io/part-of", "fleet-networking");
        for (labels, expected) in [
            (&[by, ours][..], Maker::Chart),
            (&[by], Maker::Other),
            (&[(by.0, "fleetctl")], Maker::Join),
            (&[ours], Maker::Other),
            (&[], Maker::Other),
        ] {
            let pairs = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            assert_eq!(Maker::of(&pairs.collect()), expected, "{labels:?}");
        }
    }
}
