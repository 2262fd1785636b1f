//! Ports of an exported Service.

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Transport protocol of a Service port.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Protocol {
    /// TCP, the default.
    #[default]
    #[serde(rename = "TCP")]
    Tcp,
    /// UDP.
    #[serde(rename = "UDP")]
    Udp,
    /// SCTP.
    #[serde(rename = "SCTP")]
    Sctp,
    /// A protocol this version does not know. Kept, so that one such object does not fail a list.
    #[serde(untagged)]
    #[schemars(skip)]
    Other(String),
}

impl Protocol {
    /// The protocol as written on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Sctp => "SCTP",
            Self::Other(text) => text,
        }
    }
}

impl From<&str> for Protocol {
    fn from(text: &str) -> Self {
        match text {
            "TCP" => Self::Tcp,
            "UDP" => Self::Udp,
            "SCTP" => Self::Sctp,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// One port of an exported Service; everything of a core Service port but the node port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServicePort {
    /// Name of the port; optional if the Service has only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Transport protocol.
    #[serde(default)]
    pub protocol: Protocol,
    /// Application protocol, as a hint to implementations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_protocol: Option<String>,
    /// Port the Service listens on.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// Number or name of the port on the endpoints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_port: Option<IntOrString>,
}

impl From<&core::ServicePort> for ServicePort {
    fn from(port: &core::ServicePort) -> Self {
        Self {
            name: port.name.clone(),
            protocol: port.protocol.as_deref().map(Protocol::from).unwrap_or_default(),
            app_protocol: port.app_protocol.clone(),
            port: port.port,
            target_port: port.target_port.clone(),
        }
    }
}

impl From<&ServicePort> for core::ServicePort {
    /// Leaves the node port unset, so that the importing cluster assigns one.
    fn from(port: &ServicePort) -> Self {
        Self {
            name: port.name.clone(),
            protocol: Some(port.protocol.as_str().to_owned()),
            app_protocol: port.app_protocol.clone(),
            port: port.port,
            target_port: port.target_port.clone(),
            node_port: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_without_protocol_is_tcp() {
        let port: ServicePort = serde_json::from_str(r#"{"port":80}"#).unwrap();
        assert_eq!(port.protocol, Protocol::Tcp);
        assert_eq!(serde_json::to_string(&port).unwrap(), r#"{"protocol":"TCP","port":80}"#);
    }

    #[test]
    fn an_unknown_protocol_is_kept() {
        let text = r#"{"protocol":"QUIC","port":80}"#;
        let port: ServicePort = serde_json::from_str(text).unwrap();
        assert_eq!(port.protocol, Protocol::Other("QUIC".to_owned()));
        assert_eq!(serde_json::to_string(&port).unwrap(), text);
    }

    #[test]
    fn a_core_port_is_converted_both_ways_without_its_node_port() {
        let core = core::ServicePort {
            name: Some("web".to_owned()),
            protocol: Some("UDP".to_owned()),
            app_protocol: Some("h2c".to_owned()),
            port: 443,
            target_port: Some(IntOrString::String("https".to_owned())),
            node_port: Some(30000),
        };
        let back = core::ServicePort::from(&ServicePort::from(&core));
        assert_eq!(back, core::ServicePort { node_port: None, ..core });
    }
}
