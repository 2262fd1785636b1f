//! References to objects of other clusters.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ObjectName;

/// The object of a member cluster that something on the hub stands for.
///
/// Its claims are not proof: on the hub the member is known by the namespace the object is in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ExportedObjectReference {
    /// Name of the member cluster.
    pub cluster_id: String,
    /// API version of the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// Kind of the object.
    pub kind: String,
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// Version of the object that was exported.
    pub resource_version: String,
    /// Generation of the object that was exported.
    pub generation: i64,
    /// Incarnation of the object.
    pub uid: String,
    /// `namespace/name` of the object; what the Go agents' indexes use.
    pub namespaced_name: String,
    /// When, by the exporting member's clock, this generation was first seen. In whole seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exported_since: Option<Time>,
}

impl ExportedObjectReference {
    /// The object referred to; `None` if namespace, name and `namespacedName` do not agree.
    pub fn object(&self) -> Option<ObjectName> {
        agreeing(&self.namespace, &self.name, &self.namespaced_name)
    }
}

/// The Service that an exported EndpointSlice backs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OwnerServiceReference {
    /// Namespace of the Service.
    pub namespace: String,
    /// Name of the Service.
    pub name: String,
    /// `namespace/name` of the Service; what the Go agents' indexes use.
    pub namespaced_name: String,
}

impl OwnerServiceReference {
    /// The Service referred to; `None` if namespace, name and `namespacedName` do not agree.
    pub fn object(&self) -> Option<ObjectName> {
        agreeing(&self.namespace, &self.name, &self.namespaced_name)
    }
}

impl From<&ObjectName> for OwnerServiceReference {
    fn from(service: &ObjectName) -> Self {
        Self {
            namespace: service.namespace.to_string(),
            name: service.name.to_string(),
            namespaced_name: service.to_string(),
        }
    }
}

fn agreeing(namespace: &str, name: &str, namespaced_name: &str) -> Option<ObjectName> {
    let object = ObjectName::parse(namespaced_name)?;
    (*object.namespace == *namespace && *object.name == *name).then_some(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_reference_names_its_service() {
        let service = ObjectName::new("team", "shop");
        assert_eq!(OwnerServiceReference::from(&service).object(), Some(service));
    }

    #[test]
    fn a_reference_that_contradicts_itself_names_nothing() {
        let reference = OwnerServiceReference {
            namespace: "team".to_owned(),
            name: "shop".to_owned(),
            namespaced_name: "other/shop".to_owned(),
        };
        assert_eq!(reference.object(), None);
        assert_eq!(OwnerServiceReference::default().object(), None);
    }

    #[test]
    fn times_are_written_in_whole_seconds_and_absent_values_are_left_out() {
        let since = "2026-05-06T07:08:09.75Z".parse().unwrap();
        let mut reference =
            ExportedObjectReference { exported_since: Some(Time(since)), ..Default::default() };
        let sent = serde_json::to_value(&reference).unwrap();
        assert_eq!(sent["exportedSince"], "2026-05-06T07:08:09Z");
        assert!(sent.get("apiVersion").is_none());

        reference.exported_since = None;
        let sent = serde_json::to_value(&reference).unwrap();
        assert!(sent.get("exportedSince").is_none());
    }
}
