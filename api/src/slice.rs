//! The exported part of an EndpointSlice.

use k8s_openapi::api::discovery::v1 as discovery;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ExportedObjectReference, OwnerServiceReference};

/// Kind of the addresses in a slice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum AddressType {
    /// IPv4 addresses.
    #[default]
    IPv4,
    /// IPv6 addresses. The original's definition of the kinds knows no such slices.
    IPv6,
    /// A kind this version does not carry. Kept, so that one such object does not fail a list.
    #[serde(untagged)]
    #[schemars(skip)]
    Other(String),
}

impl AddressType {
    /// The address type as written on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::IPv4 => "IPv4",
            Self::IPv6 => "IPv6",
            Self::Other(text) => text,
        }
    }
}

impl From<&str> for AddressType {
    fn from(text: &str) -> Self {
        match text {
            "IPv4" => Self::IPv4,
            "IPv6" => Self::IPv6,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// One backend.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Endpoint {
    /// Its addresses, all of one backend.
    pub addresses: Vec<String>,
    /// Its host name in the records of a headless Service. The original's definition of the kinds does not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<Box<str>>,
    /// The zone that it is in. The original's definition of the kinds does not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<Box<str>>,
    /// The member that runs it, where that is not the exporter: its Pod is on the virtual node of that member. The original's
    /// definition of the kinds does not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executor: Option<Box<str>>,
}

impl Endpoint {
    /// An endpoint of which only the addresses are known.
    pub fn new(addresses: Vec<String>) -> Self {
        Self { addresses, hostname: None, zone: None, executor: None }
    }
}

/// One port of a slice, as in an EndpointSlice. A missing number means every port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct EndpointPort {
    /// Name of the Service port; empty for an unnamed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Transport protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Number of the port on the endpoints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
    /// Application protocol, as a hint to implementations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_protocol: Option<String>,
}

impl From<&discovery::EndpointPort> for EndpointPort {
    fn from(port: &discovery::EndpointPort) -> Self {
        Self {
            name: port.name.clone(),
            protocol: port.protocol.clone(),
            port: port.port,
            app_protocol: port.app_protocol.clone(),
        }
    }
}

impl From<&EndpointPort> for discovery::EndpointPort {
    fn from(port: &EndpointPort) -> Self {
        Self {
            name: port.name.clone(),
            protocol: port.protocol.clone(),
            port: port.port,
            app_protocol: port.app_protocol.clone(),
        }
    }
}

/// An EndpointSlice on its way between clusters: spec of both `EndpointSliceExport` and
/// `EndpointSliceImport`, which is a copy of the former.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExportedSliceSpec {
    /// Kind of the addresses.
    #[schemars(extend("default" = "IPv4"))]
    pub address_type: AddressType,
    /// Ready endpoints; may be empty.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub endpoints: Vec<Endpoint>,
    /// Endpoints that are being terminated and still serve: for traffic that nothing ready could
    /// take. The original's definition of the kinds knows no such list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub draining_endpoints: Vec<Endpoint>,
    /// Ports that every endpoint offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub ports: Vec<EndpointPort>,
    /// The exported EndpointSlice.
    pub endpoint_slice_reference: ExportedObjectReference,
    /// The Service it backs.
    pub owner_service_reference: OwnerServiceReference,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_slice_still_sends_its_endpoints() {
        let sent = serde_json::to_value(ExportedSliceSpec::default()).unwrap();
        assert_eq!(sent["addressType"], "IPv4");
        assert_eq!(sent["endpoints"], serde_json::json!([]));
        assert!(sent.get("ports").is_none());
        assert!(sent.get("drainingEndpoints").is_none());
    }

    #[test]
    fn ports_are_exported_verbatim() {
        let port = discovery::EndpointPort {
            name: Some(String::new()),
            protocol: Some("SCTP".to_owned()),
            port: None,
            app_protocol: Some("example.com/thing".to_owned()),
        };
        assert_eq!(discovery::EndpointPort::from(&EndpointPort::from(&port)), port);
        let sent = serde_json::to_string(&EndpointPort::from(&port)).unwrap();
        assert_eq!(sent, r#"{"name":"","protocol":"SCTP","appProtocol":"example.com/thing"}"#);
    }

    #[test]
    fn address_types_read_as_they_are_written() {
        for known in [AddressType::IPv4, AddressType::IPv6] {
            assert_eq!(AddressType::from(known.as_str()), known);
            assert_eq!(serde_json::to_value(&known).unwrap(), known.as_str());
            assert_eq!(AddressType::deserialize(serde_json::json!(known.as_str())).unwrap(), known);
        }
    }

    #[test]
    fn an_unknown_address_type_is_kept() {
        let read: AddressType = serde_json::from_str(r#""FQDN""#).unwrap();
        assert_eq!(read, AddressType::Other("FQDN".to_owned()));
        assert_eq!(serde_json::to_string(&read).unwrap(), r#""FQDN""#);
    }
}
