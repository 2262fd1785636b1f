//! Contents of the kinds of the standard API, in the cluster of a member.

use std::sync::Arc;

use fleet_accumulator::{Meta, Texts, Tracked, shared_text, wire};
use fleet_api::multicluster::standard::{
    ClusterPropertySpec, ServiceExportSpec, ServiceImportSpec, ServiceImportStatus,
};
use fleet_api::{ObjectName, ResourceKind, annotations, kinds};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};

use crate::objects::exports::ConditionsWire;
use crate::objects::missing::MISSING;

wire! {
    /// A ServiceExport of the standard API on the wire.
    pub struct ServiceExportWire as fleet_api::multicluster::standard::ServiceExport {
        spec: Option<ServiceExportSpec>,
        status: Option<ConditionsWire>,
    }
}

wire! {
    /// A ServiceImport of the standard API on the wire.
    pub struct ServiceImportWire as fleet_api::multicluster::standard::ServiceImport {
        spec: Option<ServiceImportSpec>,
        status: Option<ServiceImportStatus>,
    }
}

wire! {
    /// A ClusterProperty on the wire.
    pub struct ClusterPropertyWire as fleet_api::multicluster::standard::ClusterProperty {
        spec: Option<ClusterPropertySpec>,
    }
}

/// A user's request to export the Service of the same name by the standard API.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceExport {
    /// Metadata.
    pub meta: Meta,
    /// Labels for the imports, as the user wrote them.
    pub exported_labels: Texts,
    /// Annotations for the imports, as the user wrote them.
    pub exported_annotations: Texts,
    /// Conditions by type.
    pub conditions: Vec<Condition>,
}

/// A Service of the clusterset in this cluster, of any writer.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceImport {
    /// Metadata.
    pub meta: Meta,
    /// Its spec; `None` if it has values that no agent of ours writes.
    pub spec: Option<Box<ServiceImportSpec>>,
    /// Its status.
    pub status: Box<ServiceImportStatus>,
}

/// A property of this cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterProperty {
    /// Its value.
    pub value: Box<str>,
    /// Whether the member agent made it.
    pub is_ours: bool,
    /// Whether it is being deleted.
    pub terminating: bool,
}

impl ServiceImport {
    /// The tally of those that a member agent made.
    pub const OURS: &str = "ours";

    /// The incarnation of the hub that confirmed it; `None` if it is another implementation's.
    pub fn hub(&self) -> Option<&str> {
        self.meta.annotation(annotations::MULTICLUSTER_HUB)
    }
}

fn texts(pairs: impl IntoIterator<Item = (String, String)>) -> Texts {
    pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect()
}

impl Tracked for ServiceExport {
    const KIND: ResourceKind = kinds::MCS_SERVICE_EXPORT;
    type Wire = ServiceExportWire;
    type Index = ();

    /// The API does not require a spec.
    fn project(wire: ServiceExportWire) -> Result<Self, String> {
        let spec = wire.spec.unwrap_or_default();
        Ok(Self {
            meta: Meta::from_object(&wire.metadata),
            exported_labels: texts(spec.exported_labels),
            exported_annotations: texts(spec.exported_annotations),
            conditions: wire.status.unwrap_or_default().conditions,
        })
    }

    /// Conditions that do not decode are written anew.
    fn salvage(wire: ServiceExportWire, _: &str) -> Result<Self, String> {
        Self::project(wire)
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }
}

impl Tracked for ServiceImport {
    const KIND: ResourceKind = kinds::MCS_SERVICE_IMPORT;
    type Wire = ServiceImportWire;
    type Index = ();

    fn project(wire: ServiceImportWire) -> Result<Self, String> {
        Ok(Self {
            meta: Meta::from_object(&wire.metadata),
            spec: wire.spec.map(Box::new),
            status: Box::new(wire.status.unwrap_or_default()),
        })
    }

    /// Others may write what we cannot decode. It is kept, because the Service is theirs then.
    fn salvage(wire: ServiceImportWire, _: &str) -> Result<Self, String> {
        Self::project(wire)
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }

    /// Those of a member agent together, so that their number is known without reading them.
    fn tally(&self, _: &ObjectName) -> Option<Arc<str>> {
        self.hub().map(|_| shared_text(Self::OURS))
    }
}

fn is_marked(metadata: &ObjectMeta) -> bool {
    let annotations = metadata.annotations.as_ref();
    annotations.is_some_and(|annotations| annotations.contains_key(annotations::MULTICLUSTER_HUB))
}

impl Tracked for ClusterProperty {
    const KIND: ResourceKind = kinds::CLUSTER_PROPERTY;
    type Wire = ClusterPropertyWire;
    type Index = ();

    fn project(wire: ClusterPropertyWire) -> Result<Self, String> {
        Ok(Self {
            value: wire.spec.ok_or(MISSING)?.value.into(),
            is_ours: is_marked(&wire.metadata),
            terminating: wire.metadata.deletion_timestamp.is_some(),
        })
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_versions_of_an_export_read_the_same() {
        let read = |version: &str| {
            let object = json!({
                "apiVersion": format!("multicluster.x-k8s.io/{version}"), "kind": "ServiceExport",
                "metadata": { "name": "web", "namespace": "shop" },
                "spec": { "exportedLabels": { "team": "a" } },
            });
            ServiceExport::project(serde_json::from_value(object).unwrap()).unwrap()
        };
        assert_eq!(read("v1beta1"), read("v1alpha1"));
        let label = read("v1alpha1").exported_labels.get("team").map(ToString::to_string);
        assert_eq!(label.as_deref(), Some("a"));
    }

    #[test]
    fn an_export_needs_no_spec() {
        let object = json!({ "metadata": { "name": "web", "namespace": "shop" } });
        let export = ServiceExport::project(serde_json::from_value(object).unwrap()).unwrap();
        assert!(export.exported_labels.is_empty() && export.conditions.is_empty());
    }

    #[test]
    fn an_import_of_somebody_else_is_kept_whatever_it_says() {
        let object = json!({
            "metadata": { "name": "web", "namespace": "shop" },
            "spec": { "type": "ClusterSetIP", "ports": [], "ipFamilies": ["IPv9"] },
        });
        let wire: ServiceImportWire = serde_json::from_value(object).unwrap();
        let import = ServiceImport::salvage(wire, "").unwrap();
        assert_eq!((import.spec, import.meta.annotations.is_empty()), (None, true));
    }
}
