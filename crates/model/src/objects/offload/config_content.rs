//! Contents of config maps and Secrets: of those that Pods on virtual nodes refer to, and of the copies that an executor has.

use std::collections::BTreeMap;

use fleet_accumulator::{Feed, Meta, SourceSpec, Tracked, selectable, wire};
use fleet_api::offload::{ConfigCopy, ConfigKind};
use fleet_api::{ObjectName, ResourceKind, kinds};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

wire! {
    /// A config map on the wire.
    pub struct ConfigContentWire as core::ConfigMap {
        data: Option<BTreeMap<String, String>>,
        binary_data: Option<BTreeMap<String, String>>,
        immutable: Option<bool>,
    }
}

wire! {
    /// A Secret on the wire. Its values stay in base64.
    pub struct SecretContentWire as core::Secret {
        data: Option<BTreeMap<String, String>>,
        r#type: Option<String>,
        immutable: Option<bool>,
    }
}

/// A config map with its content.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigMapContent {
    /// Metadata.
    pub meta: Meta,
    /// Its content, under its own name.
    pub copy: ConfigCopy,
}

/// A Secret with its content.
#[derive(Clone, PartialEq)]
pub struct SecretContent {
    /// Metadata.
    pub meta: Meta,
    /// Its content, under its own name.
    pub copy: ConfigCopy,
}

/// Without the content, which is not for logs.
impl std::fmt::Debug for SecretContent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretContent").field("name", &self.copy.name).finish_non_exhaustive()
    }
}

impl Tracked for ConfigMapContent {
    const KIND: ResourceKind = kinds::CONFIG_MAP;
    type Wire = ConfigContentWire;
    type Index = ();

    fn project(wire: ConfigContentWire) -> Result<Self, String> {
        let copy = ConfigCopy {
            data: wire.data.unwrap_or_default(),
            binary_data: wire.binary_data.unwrap_or_default(),
            ..empty(ConfigKind::ConfigMap, &wire.metadata, wire.immutable)
        };
        Ok(Self { meta: Meta::from_object(&wire.metadata), copy })
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }

    fn feed(spec: SourceSpec) -> Box<dyn Feed<ConfigContentWire>> {
        selectable(spec)
    }
}

impl Tracked for SecretContent {
    const KIND: ResourceKind = kinds::SECRET;
    type Wire = SecretContentWire;
    type Index = ();

    fn project(wire: SecretContentWire) -> Result<Self, String> {
        let copy = ConfigCopy {
            type_: wire.r#type,
            binary_data: wire.data.unwrap_or_default(),
            ..empty(ConfigKind::Secret, &wire.metadata, wire.immutable)
        };
        Ok(Self { meta: Meta::from_object(&wire.metadata), copy })
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }

    fn feed(spec: SourceSpec) -> Box<dyn Feed<SecretContentWire>> {
        selectable(spec)
    }
}

/// What both have beside their content.
fn empty(kind: ConfigKind, metadata: &ObjectMeta, immutable: Option<bool>) -> ConfigCopy {
    ConfigCopy {
        kind,
        name: metadata.name.clone().unwrap_or_default(),
        immutable: immutable.unwrap_or_default(),
        ..ConfigCopy::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn contents_are_those_that_cross() {
        let object = json!({
            "metadata": { "name": "settings", "namespace": "shop" },
            "data": { "a": "1" }, "binaryData": { "b": "AA==" }, "immutable": true,
        });
        let map = ConfigMapContent::project(serde_json::from_value(object).unwrap()).unwrap();
        assert_eq!(map.copy.data["a"], "1");
        assert_eq!((&*map.copy.binary_data["b"], map.copy.immutable), ("AA==", true));
        let object = json!({
            "metadata": { "name": "tls", "namespace": "shop" },
            "type": "kubernetes.io/tls", "data": { "tls.key": "c2VjcmV0" },
        });
        let secret = SecretContent::project(serde_json::from_value(object).unwrap()).unwrap();
        assert_eq!(secret.copy.kind, ConfigKind::Secret);
        assert_eq!(secret.copy.type_.as_deref(), Some("kubernetes.io/tls"));
        assert_eq!(secret.copy.binary_data["tls.key"], "c2VjcmV0");
        assert!(!format!("{secret:?}").contains("c2VjcmV0"), "no log shows it");
    }
}
