//! An export that takes part, with the defaults of Kubernetes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use fleet_api::multicluster::{ServiceProperties, ServiceType, SessionAffinity};
use jiff::Timestamp;

use super::metadata::{allowed_annotations, allowed_labels};
use crate::precedence::Precedence;

/// How long a client stays with its endpoint unless the Service has another value, in seconds.
const DEFAULT_AFFINITY_TIMEOUT: i32 = 10_800;

/// An export of a Service that takes part in its resolution.
#[derive(Clone, Debug, PartialEq)]
pub struct Export<'a> {
    /// The exporting cluster.
    pub cluster: &'a str,
    /// When it was exported: see [`exported_at`].
    pub since: Timestamp,
    /// Whether that counts.
    pub precedence: Precedence,
    /// What it offers.
    pub properties: Cow<'a, ServiceProperties>,
}

/// When a Service was exported. The member reports when its ServiceExport was created, but not later than the hub has stored
/// that: no export comes from the future.
pub fn exported_at(claimed: Option<Timestamp>, stored: Option<Timestamp>) -> Timestamp {
    let stored = stored.unwrap_or(Timestamp::MAX);
    claimed.map_or(stored, |claimed| claimed.min(stored))
}

impl<'a> Export<'a> {
    /// Orders exports by age. It does not depend on when the hub learnt of them, so that the same exports give the same result
    /// after a restart.
    pub(super) fn age(&self) -> (Timestamp, &'a str) {
        (self.since, self.cluster)
    }

    pub(super) fn type_(&self) -> ServiceType {
        self.properties.type_
    }

    /// Whether a client stays with its endpoint, and how long. Headless Services have no such thing.
    pub(super) fn affinity(&self) -> (SessionAffinity, Option<i32>) {
        let stays = self.type_() == ServiceType::ClusterSetIP
            && self.properties.session_affinity == SessionAffinity::ClientIP;
        if stays {
            let timeout = self.properties.affinity_timeout_seconds;
            (SessionAffinity::ClientIP, Some(timeout.unwrap_or(DEFAULT_AFFINITY_TIMEOUT)))
        } else {
            (SessionAffinity::None, None)
        }
    }

    pub(super) fn labels(&self) -> BTreeMap<String, String> {
        allowed_labels(&self.properties.labels)
    }

    pub(super) fn annotations(&self) -> BTreeMap<String, String> {
        allowed_annotations(&self.properties.annotations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_comes_from_the_future() {
        let [early, late] = [10, 20].map(|second| Timestamp::from_second(second).unwrap());
        assert_eq!(exported_at(Some(early), Some(late)), early);
        assert_eq!(exported_at(Some(late), Some(early)), early);
        assert_eq!(exported_at(None, Some(late)), late);
    }
}
