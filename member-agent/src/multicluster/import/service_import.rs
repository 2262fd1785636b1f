//! The ServiceImport.

use std::collections::BTreeMap;
use std::time::Duration;

use fleet_api::annotations::{MULTICLUSTER_DERIVED_SERVICE, MULTICLUSTER_HUB};
use fleet_api::multicluster::standard::ServiceImportSpec;
use fleet_api::multicluster::{IpFamily, ServiceType};
use fleet_model::objects::multicluster::standard;
use fleet_model::steps::{LOCAL, to_json};
use fleet_plan::{Step, StepId};
use serde_json::{Value, json};

use super::state::{Import, ServiceState};
use super::target::Target;
use crate::measurement::Plan;

/// How often fields are written that the API server does not store: its definition of the kind may be an older one.
const NOT_STORED: Duration = Duration::from_secs(30);

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
    let seen = import.spec.as_deref();
    let is_same = is_marked_so(import, &metadata) && seen == Some(&spec);
    if is_same {
        return None;
    }
    let stored = seen.map(|seen| as_stored(&spec, seen));
    let is_stored = is_marked_so(import, &metadata) && stored.as_ref() == seen;
    let body = json!({ "metadata": metadata, "spec": to_json(&spec) });
    let step = LOCAL.replace_exactly(import, body).stage("mcs_import");
    let step = step.after(after.iter().copied());
    if is_stored {
        plan.debounce(NOT_STORED, "its definition may not have these fields", step);
        return None;
    }
    Some(plan.push(step))
}

fn with_addresses(target: &Target, addresses: &Addresses) -> ServiceImportSpec {
    let mut spec = target.spec.clone();
    if spec.type_ == ServiceType::ClusterSetIP {
        spec.ips.clone_from(&addresses.ips);
        spec.ip_families.clone_from(&addresses.families);
    }
    spec
}

/// The spec as an API server with an older definition stores it, if what it has stored shows that.
fn as_stored(spec: &ServiceImportSpec, seen: &ServiceImportSpec) -> ServiceImportSpec {
    let mut stored = spec.clone();
    if seen.internal_traffic_policy.is_none() {
        stored.internal_traffic_policy = None;
    }
    if seen.traffic_distribution.is_none() {
        stored.traffic_distribution = None;
    }
    if seen.session_affinity.is_none() {
        stored.session_affinity = None;
    }
    if seen.ip_families.is_empty() {
        stored.ip_families.clear();
    }
    stored
}

/// Labels and annotations: exactly the exported ones and ours.
fn metadata(target: &Target, derived: Option<&str>, current: Option<&Import>) -> Value {
    type Texts = BTreeMap<String, String>;
    let (labels, mut annotations): (Texts, Texts) = match (&target.exported, current) {
        (Some(exported), _) => (exported.labels.clone(), exported.annotations.clone()),
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

fn owned(texts: &fleet_accumulator::Texts) -> BTreeMap<String, String> {
    texts.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

fn is_marked_so(import: &Import, metadata: &Value) -> bool {
    let labels = json!(owned(&import.meta.labels));
    let annotations = json!(owned(&import.meta.annotations));
    metadata["labels"] == labels && metadata["annotations"] == annotations
}
