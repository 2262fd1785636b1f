//! The contract of a provider: the same cases for each of them.

mod cluster;
mod contract;
mod hub;

use std::collections::BTreeMap;

use fleet_api::offload::{OffloadTerms, PodExportSpec, PolicyProfile};
use serde_json::{Value, json};

use super::*;
use crate::life::ExportState;
use crate::pod::{LocalPod, spec_hash, translate};

/// A provider, and the other side of it: what takes its writes and runs Pods.
trait Backend {
    /// The provider, as it observes the other side now.
    fn provider(&self) -> Box<dyn Provider>;
    /// Takes writes, as an API server does. All of them have to be accepted.
    fn apply(&mut self, writes: Vec<Write>);
    /// Lets Pods start and end, as the other side does after a while.
    fn run(&mut self);
    /// Whether a Pod runs there.
    fn runs(&self, uid: &str) -> bool;
    /// How many Pods were started.
    fn started(&self) -> usize;
    /// Another client deletes the running Pod.
    fn lose(&mut self, uid: &str);
    /// What was observed is not known any more.
    fn forget(&mut self);
}

fn terms() -> OffloadTerms {
    OffloadTerms {
        namespaces: vec!["shop".to_owned()],
        policy_profile: PolicyProfile::Baseline,
        verbatim_labels: true,
        ..OffloadTerms::default()
    }
}

fn spec() -> Value {
    json!({ "containers": [{ "name": "web", "image": "web:1" }] })
}

/// What crosses of a Pod with this uid.
fn export(uid: &str, spec: Value, label: &str) -> PodExportSpec {
    let Value::Object(spec) = spec else { unreachable!() };
    let pod = LocalPod {
        namespace: "shop".to_owned(),
        name: "web".to_owned(),
        uid: uid.to_owned(),
        labels: [("app".to_owned(), label.to_owned())].into(),
        spec,
        ..LocalPod::default()
    };
    let mut export = translate(&pod, "east", "west", &terms(), None).unwrap();
    export.spec_hash = spec_hash(&export);
    export
}

/// Applies the operations that providers make: each adds or replaces one field.
fn patch(object: &mut Value, operations: &[Value]) {
    for operation in operations {
        let path = operation["path"].as_str().unwrap();
        let (parent, key) = path.rsplit_once('/').unwrap();
        let key = key.replace("~1", "/").replace("~0", "~");
        object.pointer_mut(parent).unwrap()[key] = operation["value"].clone();
    }
}
