//! Ports, endpoints and slices in canonical order, so that arbitrary choices do not differ.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{ObjectReference, Service};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use serde::Serialize;

/// The JSON by which lists are sorted.
pub(crate) fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PortView {
    name: Option<String>,
    protocol: Option<String>,
    port: Option<i32>,
    app_protocol: Option<String>,
}

pub(crate) fn ports(ports: &[EndpointPort]) -> Vec<PortView> {
    let view = |port: &EndpointPort| PortView {
        name: port.name.clone(),
        protocol: port.protocol.clone(),
        port: port.port,
        app_protocol: port.app_protocol.clone(),
    };
    let mut views: Vec<_> = ports.iter().map(view).collect();
    views.sort_by_key(text);
    views
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EndpointView {
    addresses: Vec<String>,
    ready: Option<bool>,
    serving: Option<bool>,
    terminating: Option<bool>,
    hostname: Option<String>,
    node_name: Option<String>,
    zone: Option<String>,
    target: String,
}

pub(crate) fn endpoint(endpoint: &Endpoint) -> EndpointView {
    let conditions = endpoint.conditions.clone().unwrap_or_default();
    EndpointView {
        addresses: addresses(endpoint),
        ready: conditions.ready,
        serving: conditions.serving,
        terminating: conditions.terminating,
        hostname: endpoint.hostname.clone(),
        node_name: endpoint.node_name.clone(),
        zone: endpoint.zone.clone(),
        target: endpoint.target_ref.as_ref().map(target).unwrap_or_default(),
    }
}

fn target(reference: &ObjectReference) -> String {
    let parts = [&reference.kind, &reference.namespace, &reference.name, &reference.uid];
    parts.map(|part| part.as_deref().unwrap_or_default()).join("/")
}

fn addresses(endpoint: &Endpoint) -> Vec<String> {
    let mut addresses = endpoint.addresses.clone();
    addresses.sort();
    addresses
}

/// The identity by which desired and existing endpoints are matched.
pub(crate) fn identity(endpoint: &Endpoint) -> String {
    let hostname = endpoint.hostname.as_deref().unwrap_or_default();
    let target = endpoint.target_ref.as_ref().map(|target| {
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        format!("{}/{}", part(&target.namespace), part(&target.name))
    });
    format!("{}|{hostname}|{}", addresses(endpoint).join(","), target.unwrap_or_default())
}

#[derive(Serialize)]
pub(crate) struct SliceView {
    fate: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    size: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kept: Vec<String>,
    added: usize,
    owned: bool,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
}

/// A final slice; `before` is what it was, unless it is new or recycled.
pub(crate) fn slice(
    service: &Service,
    slice: &EndpointSlice,
    before: Option<&EndpointSlice>,
    updated: bool,
) -> SliceView {
    let uid = service.metadata.uid.as_deref().unwrap_or_default();
    let owners = slice.metadata.owner_references.as_deref().unwrap_or_default();
    let mut view = SliceView {
        fate: "fresh",
        name: String::new(),
        size: slice.endpoints.len(),
        kept: Vec::new(),
        added: slice.endpoints.len(),
        owned: owners
            .iter()
            .any(|owner| owner.uid == uid && owner.kind == "Service" && owner.api_version == "v1"),
        labels: slice.metadata.labels.clone().unwrap_or_default(),
        annotations: slice.metadata.annotations.clone().unwrap_or_default(),
    };
    if let Some(before) = before {
        let known: BTreeSet<String> = before.endpoints.iter().map(identity).collect();
        view.kept = slice.endpoints.iter().map(identity).filter(|id| known.contains(id)).collect();
        view.kept.sort();
        view.added = slice.endpoints.len() - view.kept.len();
        view.name = slice.metadata.name.clone().unwrap_or_default();
        view.fate = if updated { "modified" } else { "unchanged" };
    }
    view
}
