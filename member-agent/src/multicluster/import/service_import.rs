//! The ServiceImport.

use std::collections::BTreeMap;

use fleet_accumulator::Texts;
use fleet_api::annotations::{
    MULTICLUSTER_DERIVED_SERVICE, MULTICLUSTER_EXPORTED, MULTICLUSTER_HUB,
};
use fleet_api::multicluster::standard::ServiceImportSpec;
use fleet_api::multicluster::{IpFamily, ServiceType};
use fleet_api::names;
use fleet_model::objects::multicluster::standard;
use fleet_model::steps::{LOCAL, to_json};
use fleet_plan::{Step, StepId};
use serde_json::{Value, json};

use super::state::{Import, ServiceState};
use super::target::{Exported, Target};
use crate::measurement::Plan;

/// Our own annotations of an import.
const OURS: [&str; 3] = [MULTICLUSTER_HUB, MULTICLUSTER_DERIVED_SERVICE, MULTICLUSTER_EXPORTED];

/// Addresses of an import, and their families.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Addresses {
    pub(super) ips: Vec<String>,
    pub(super) families: Vec<IpFamily>,
}

impl Addresses {
    /// Those that an import has.
    pub(super) fn of(import: &Import) -> Self {
        import.spec.as_ref().map_or_else(Self::default, |spec| {
            let ips = spec.ips.clone();
            Self { ips, families: spec.ip_families.clone() }
        })
    }
}

/// Creates the import, without addresses: names in DNS resolve only when there is something behind them.
pub(super) fn create(state: &ServiceState<'_>, target: &Target, derived: Option<&str>) -> Step {
    let metadata = metadata(target, derived, None);
    let body = json!({ "metadata": metadata, "spec": to_json(&target.spec) });
    LOCAL.create::<standard::ServiceImport>(state.service.clone(), body).stage("mcs_import")
}

/// Brings an import to its target with these addresses. Returns the step, if it is one that is due at once.
pub(super) fn update(
    import: &Import,
    target: &Target,
    addresses: &Addresses,
    derived: Option<&str>,
    after: &[StepId],
    plan: &mut Plan,
) -> Option<StepId> {
    let spec = with_addresses(target, addresses);
    let metadata = metadata(target, derived, Some(import));
    // What an API server with an older definition does not store would be written again and again.
    let seen = import.spec.as_deref();
    let has_spec = seen.is_some_and(|seen| as_stored(&spec, seen) == *seen);
    if has_spec && is_marked_so(import, &metadata) {
        return None;
    }
    let body = json!({ "metadata": metadata, "spec": to_json(&spec) });
    let step = LOCAL.replace_exactly(import, body).stage("mcs_import");
    Some(plan.push(step.after(after.iter().copied())))
}

fn with_addresses(target: &Target, addresses: &Addresses) -> ServiceImportSpec {
    let mut spec = target.spec.clone();
    if spec.type_ == ServiceType::ClusterSetIP {
        spec.ips.clone_from(&addresses.ips);
        spec.ip_families.clone_from(&addresses.families);
    }
    spec
}

/// The spec as an API server with an older definition stores it, if what it has stored shows that: each import that this agent
/// writes has a policy.
fn as_stored(spec: &ServiceImportSpec, seen: &ServiceImportSpec) -> ServiceImportSpec {
    let mut stored = spec.clone();
    if seen.internal_traffic_policy.is_none() {
        stored.internal_traffic_policy = None;
        stored.traffic_distribution = None;
        stored.ip_families.clear();
    }
    stored
}

/// Labels and annotations: the exported ones and ours.
fn metadata(target: &Target, derived: Option<&str>, current: Option<&Import>) -> Value {
    type Texts = BTreeMap<String, String>;
    let (labels, mut annotations): (Texts, Texts) = match (&target.exported, current) {
        (Some(exported), _) => {
            let Exported { labels, annotations } = exported;
            (labels.clone(), marked(labels, annotations))
        }
        (None, Some(current)) => (owned(&current.meta.labels), owned(&current.meta.annotations)),
        (None, None) => Default::default(),
    };
    annotations.insert(MULTICLUSTER_HUB.to_owned(), target.mark.clone());
    match derived {
        Some(name) => annotations.insert(MULTICLUSTER_DERIVED_SERVICE.to_owned(), name.to_owned()),
        None => annotations.remove(MULTICLUSTER_DERIVED_SERVICE),
    };
    json!({ "labels": labels, "annotations": annotations })
}

/// The exported annotations, with the digest of all that is exported, if anything is: those that are exported no longer are
/// distinguished by it from those of others.
fn marked(
    labels: &BTreeMap<String, String>,
    annotations: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut marked = annotations.clone();
    if !labels.is_empty() || !annotations.is_empty() {
        let digest = names::digest(&json!([labels, annotations]).to_string());
        marked.insert(MULTICLUSTER_EXPORTED.to_owned(), digest);
    }
    marked
}

fn owned(texts: &Texts) -> BTreeMap<String, String> {
    texts.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

/// Whether an import has these labels and annotations, whatever others have added: webhooks add some to each write.
fn is_marked_so(import: &Import, metadata: &Value) -> bool {
    let (labels, annotations) = (&metadata["labels"], &metadata["annotations"]);
    let is_right =
        |key: &str| import.meta.annotation(key).is_none() || annotations[key].is_string();
    has(&import.meta.labels, labels)
        && has(&import.meta.annotations, annotations)
        && OURS.into_iter().all(is_right)
}

fn has(texts: &Texts, wanted: &Value) -> bool {
    let texts = owned(texts);
    let mut wanted = wanted.as_object().into_iter().flatten();
    wanted.all(|(key, value)| texts.get(key).is_some_and(|text| *value == **text))
}
