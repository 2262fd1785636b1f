//! ExternalWorkloads, as far as endpoints depend on them.

use std::sync::Arc;

use fleet_accumulator::{Meta, Tracked, wire};
use fleet_api::workload::{self, ExternalWorkloadStatus, WorkloadIp, WorkloadPort};
use fleet_api::{ObjectName, ResourceKind, kinds};
use serde::Deserialize;

use super::labels::{LabelIndex, Labels};
use crate::selection::Selectable;

/// Label with the zone of a machine.
const ZONE: &str = "topology.kubernetes.io/zone";

/// The part of the spec that is read. All fields that the older API version lacks are left out.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadSpecWire {
    ports: Option<Vec<WorkloadPort>>,
    #[serde(rename = "workloadIPs")]
    workload_ips: Option<Vec<WorkloadIp>>,
}

wire! {
    /// An ExternalWorkload on the wire.
    pub struct ExternalWorkloadWire as workload::ExternalWorkload {
        spec: Option<WorkloadSpecWire>,
        status: Option<ExternalWorkloadStatus>,
    }
}

/// Addresses and ports of a machine outside of the cluster.
///
/// Fields that do not affect endpoints are left out. One of them is the deletion timestamp: until the object is gone,
/// only its condition decides whether the machine takes traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalWorkload {
    /// Labels, by which Services select it.
    pub labels: Labels,
    /// Whether its condition `Ready` is true.
    pub ready: bool,
    /// Addresses, verbatim.
    pub ips: Vec<String>,
    /// Ports on which it serves.
    pub ports: Vec<WorkloadPort>,
}

impl ExternalWorkload {
    /// Zone of the machine, which may be empty.
    pub fn zone(&self) -> Option<&str> {
        self.labels.get(ZONE).map(AsRef::as_ref)
    }
}

impl Selectable for ExternalWorkload {
    fn labels(&self) -> &Labels {
        &self.labels
    }
}

impl Tracked for ExternalWorkload {
    const KIND: ResourceKind = kinds::EXTERNAL_WORKLOAD;
    type Wire = ExternalWorkloadWire;
    type Index = LabelIndex;

    fn project(wire: ExternalWorkloadWire) -> Result<Self, String> {
        let spec = wire.spec.unwrap_or_default();
        let ips = spec.workload_ips.unwrap_or_default().into_iter().filter_map(|ip| ip.ip);
        Ok(Self {
            labels: Meta::from_object(&wire.metadata).labels.clone(),
            ready: wire.status.is_some_and(|status| is_ready(&status)),
            ips: ips.filter(|ip| !ip.is_empty()).collect(),
            ports: spec.ports.unwrap_or_default(),
        })
    }

    fn index(&self, name: &ObjectName) -> Vec<LabelIndex> {
        let namespace: &Arc<str> = &name.namespace;
        LabelIndex::all(namespace, &self.labels)
    }
}

/// Whether any condition `Ready` is true, even if another one is not.
fn is_ready(status: &ExternalWorkloadStatus) -> bool {
    let is = |field: &Option<String>, text: &str| field.as_deref() == Some(text);
    let mut conditions = status.conditions.iter();
    conditions.any(|condition| is(&condition.type_, "Ready") && is(&condition.status, "True"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn project(spec: &Value, conditions: &Value) -> ExternalWorkload {
        let object = json!({ "metadata": { "name": "vm", "namespace": "team" }, "spec": spec,
            "status": { "conditions": conditions } });
        let wire = serde_json::from_value(object).unwrap();
        ExternalWorkload::project(wire).unwrap()
    }

    #[test]
    fn one_true_ready_condition_is_enough() {
        let condition = |status: &str| json!({ "type": "Ready", "status": status });
        for (conditions, ready) in [
            (json!(null), false),
            (json!([]), false),
            (json!([{ "status": "True" }]), false),
            (json!([{ "type": "Alive", "status": "True" }]), false),
            (json!([condition("False")]), false),
            (json!([condition("Unknown")]), false),
            (json!([condition("False"), condition("True")]), true),
        ] {
            assert_eq!(project(&json!({}), &conditions).ready, ready, "{conditions}");
        }
    }

    #[test]
    fn objects_of_the_older_api_version_are_read() {
        let spec = json!({ "ports": [{ "port": 80 }], "workloadIPs": [{ "ip": "192.0.2.1" }, {}] });
        let read = project(&spec, &json!(null));
        assert_eq!(read.ips, ["192.0.2.1"]);
        assert_eq!((read.ports[0].port, read.ports[0].protocol.as_str()), (80, "TCP"));
    }
}
