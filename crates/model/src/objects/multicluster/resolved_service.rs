//! `ResolvedService`.

use std::sync::Arc;

use fleet_accumulator::{Meta, Tracked, wire};
use fleet_api::multicluster::{
    Conflict, Exporter, ResolvedServiceSpec, ServiceProperties, ServiceReference,
};
use fleet_api::{ObjectName, ResourceKind, kinds};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::properties::{named, share};
use crate::objects::missing::MISSING;

wire! {
    /// A `ResolvedService` on the wire.
    pub struct ResolvedServiceWire as fleet_api::multicluster::ResolvedService {
        spec: Option<ResolvedServiceSpec>,
    }
}

/// What is in force for a Service of the clusterset.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedService {
    /// Metadata.
    pub meta: Meta,
    /// The Service.
    pub service: ObjectName,
    /// What is in force.
    pub properties: Arc<ServiceProperties>,
    /// The cluster whose export decides; empty without exporters.
    pub winner: Arc<str>,
    /// The clusters whose endpoints form the Service, by name.
    pub exporters: Box<[Exporter]>,
    /// In what the exports differ.
    pub conflicts: Box<[Conflict]>,
    /// When the last export was withdrawn.
    pub withdrawn_at: Option<Timestamp>,
}

impl ResolvedService {
    /// What of a cluster is not in force; `None` if its endpoints are no part of the Service.
    pub fn exporter(&self, cluster: &str) -> Option<&Exporter> {
        let found =
            self.exporters.binary_search_by(|exporter| exporter.cluster.as_str().cmp(cluster));
        found.ok().map(|at| &self.exporters[at])
    }

    /// Whether the Service is over: the hub agent states that no member exports it any more.
    pub fn is_withdrawn(&self) -> bool {
        self.withdrawn_at.is_some()
    }

    /// Its spec, as its writer sent it.
    pub fn to_spec(&self) -> ResolvedServiceSpec {
        ResolvedServiceSpec {
            service: ServiceReference::from(&self.service),
            properties: (*self.properties).clone(),
            winner: self.winner.to_string(),
            exporters: self.exporters.to_vec(),
            conflicts: self.conflicts.to_vec(),
            withdrawn_at: self.withdrawn_at.map(Time),
        }
    }

    /// Index of all that are about Services of a namespace. It has no name, which every Service has.
    pub fn of_namespace(namespace: &Arc<str>) -> ObjectName {
        ObjectName::new(Arc::clone(namespace), "")
    }
}

impl Tracked for ResolvedService {
    const KIND: ResourceKind = kinds::RESOLVED_SERVICE;
    type Wire = ResolvedServiceWire;
    type Index = ObjectName;

    fn project(wire: ResolvedServiceWire) -> Result<Self, String> {
        let mut spec = wire.spec.ok_or(MISSING)?;
        // The hub agent writes them so; what another one wrote has to be found, too.
        spec.exporters.sort_by(|a, b| a.cluster.cmp(&b.cluster));
        let service = named(&spec.service).ok_or("spec.service names no Service")?;
        Ok(Self {
            meta: Meta::from_object(&wire.metadata),
            service,
            properties: share(spec.properties),
            winner: fleet_accumulator::shared_text(&spec.winner),
            exporters: spec.exporters.into(),
            conflicts: spec.conflicts.into(),
            withdrawn_at: spec.withdrawn_at.map(|time| time.0),
        })
    }

    /// By its Service, and by [`of_namespace`](Self::of_namespace).
    fn index(&self, _: &ObjectName) -> Vec<ObjectName> {
        vec![self.service.clone(), Self::of_namespace(&self.service.namespace)]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn exporters_are_found_in_whatever_order_they_were_written() {
        let names: Vec<_> = (0..1024).rev().map(|number| format!("m{number}")).collect();
        let exporters: Vec<_> = names.iter().map(|name| json!({ "cluster": name })).collect();
        let object = json!({
            "metadata": { "name": "shop-web", "namespace": "fleet-system" },
            "spec": {
                "service": { "namespace": "shop", "name": "web" }, "type": "ClusterSetIP",
                "ports": [], "sessionAffinity": "None", "internalTrafficPolicy": "Cluster", "ipFamilies": ["IPv4"],
                "winner": "m0", "exporters": exporters,
            },
        });
        let resolved = ResolvedService::project(serde_json::from_value(object).unwrap()).unwrap();
        for name in &names {
            assert_eq!(resolved.exporter(name).map(|exporter| &exporter.cluster), Some(name));
        }
        assert_eq!(resolved.exporter("m1024"), None);
        assert!(resolved.exporters.is_sorted_by_key(|exporter| &exporter.cluster));
    }
}
