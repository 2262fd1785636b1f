//! What must follow from an action of the user. Pure.

use std::collections::BTreeSet;

use fleet_api::ResourceKind;
use serde_json::Value;

use super::narrator::addresses;
use fleet_testbed::observer::{Observation, What};

/// Something that an event can fulfil.
pub(super) struct Wanted {
    text: String,
    cluster: String,
    kind: ResourceKind,
    namespace: String,
    fits: Fits,
}

enum Fits {
    Gone,
    Condition(&'static str, &'static str),
    Addresses(BTreeSet<String>),
    Exporters,
}

impl Wanted {
    /// The objects of this kind in this namespace are gone; the demo has one of each.
    pub(super) fn gone(cluster: &str, kind: ResourceKind, namespace: &str) -> Self {
        Self::new(cluster, kind, namespace, Fits::Gone, "is gone")
    }

    /// A condition has this status.
    pub(super) fn condition(
        cluster: &str,
        kind: ResourceKind,
        namespace: &str,
        (type_, status): (&'static str, &'static str),
    ) -> Self {
        let fits = Fits::Condition(type_, status);
        Self::new(cluster, kind, namespace, fits, &format!("has condition {type_}={status}"))
    }

    /// A slice, or a copy of one, has exactly these addresses.
    pub(super) fn addresses(
        cluster: &str,
        kind: ResourceKind,
        namespace: &str,
        wanted: &BTreeSet<String>,
    ) -> Self {
        let fits = Fits::Addresses(wanted.clone());
        Self::new(cluster, kind, namespace, fits, &format!("holds {wanted:?}"))
    }

    /// A status names an exporting cluster.
    pub(super) fn exporters(cluster: &str, kind: ResourceKind, namespace: &str) -> Self {
        Self::new(cluster, kind, namespace, Fits::Exporters, "names an exporting cluster")
    }

    fn new(cluster: &str, kind: ResourceKind, namespace: &str, fits: Fits, text: &str) -> Self {
        let text = format!("{cluster}: {} in {namespace} {text}", kind.kind);
        Self { text, cluster: cluster.to_owned(), kind, namespace: namespace.to_owned(), fits }
    }

    /// What is waited for, for the message of a failure.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the event fulfils it.
    pub(super) fn fulfilled_by(&self, seen: &Observation) -> bool {
        let object = &seen.object;
        if seen.cluster != self.cluster
            || seen.kind != self.kind
            || object.metadata.namespace.as_deref() != Some(&self.namespace)
        {
            return false;
        }
        let there = seen.what != What::Gone;
        match &self.fits {
            Fits::Gone => !there,
            Fits::Condition(type_, status) => {
                let conditions = object.data["status"]["conditions"].as_array();
                let fits = |one: &Value| one["type"] == *type_ && one["status"] == *status;
                there && conditions.is_some_and(|conditions| conditions.iter().any(fits))
            }
            Fits::Addresses(wanted) => {
                there && addresses(object).into_iter().collect::<BTreeSet<_>>() == *wanted
            }
            Fits::Exporters => {
                let clusters = object.data["status"]["clusters"].as_array();
                there && clusters.is_some_and(|clusters| !clusters.is_empty())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use fleet_api::kinds;
    use serde_json::json;

    use super::*;

    fn seen(cluster: &str, what: What, object: &Value) -> Observation {
        let mut object = object.clone();
        object["metadata"] = json!({ "namespace": "demo", "name": "web" });
        Observation {
            at: Instant::now(),
            cluster: cluster.to_owned(),
            kind: kinds::SERVICE_EXPORT,
            what,
            object: serde_json::from_value(object).unwrap(),
        }
    }

    #[test]
    fn a_condition_is_wanted_in_one_cluster_with_one_status() {
        let wanted = Wanted::condition("a", kinds::SERVICE_EXPORT, "demo", ("Valid", "True"));
        let with = |status: &str| json!({ "status": { "conditions": [{ "type": "Valid", "status": status }] } });
        assert!(wanted.fulfilled_by(&seen("a", What::Changed, &with("True"))));
        assert!(!wanted.fulfilled_by(&seen("b", What::Changed, &with("True"))));
        assert!(!wanted.fulfilled_by(&seen("a", What::Changed, &with("False"))));
        assert!(!wanted.fulfilled_by(&seen("a", What::Gone, &with("True"))));
        assert!(!wanted.fulfilled_by(&seen("a", What::Appeared, &json!({}))));
        assert_eq!(wanted.text(), "a: ServiceExport in demo has condition Valid=True");
    }

    #[test]
    fn addresses_must_be_exactly_the_wanted_ones() {
        let wanted = BTreeSet::from(["10.0.0.1".to_owned(), "10.0.0.2".to_owned()]);
        let wanted = Wanted::addresses("a", kinds::SERVICE_EXPORT, "demo", &wanted);
        let one = json!({ "spec": { "endpoints": [{ "addresses": ["10.0.0.1"] }] } });
        let both = json!({ "spec": { "endpoints": [
            { "addresses": ["10.0.0.2"] }, { "addresses": ["10.0.0.1"] },
        ] } });
        assert!(!wanted.fulfilled_by(&seen("a", What::Changed, &one)));
        assert!(wanted.fulfilled_by(&seen("a", What::Changed, &both)));
    }

    #[test]
    fn gone_and_resolved_are_told_apart() {
        let resolved = json!({ "status": { "clusters": [{ "cluster": "a" }] } });
        let gone = Wanted::gone("a", kinds::SERVICE_EXPORT, "demo");
        let exporters = Wanted::exporters("a", kinds::SERVICE_EXPORT, "demo");
        assert!(gone.fulfilled_by(&seen("a", What::Gone, &resolved)));
        assert!(!gone.fulfilled_by(&seen("a", What::Changed, &resolved)));
        assert!(exporters.fulfilled_by(&seen("a", What::Changed, &resolved)));
        assert!(!exporters.fulfilled_by(&seen("a", What::Gone, &resolved)));
    }
}
