//! New slices.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::{EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use crate::{AddressType, Config};

/// Template for the slices of one Service and address type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Template<'a> {
    pub(crate) service: &'a Service,
    pub(crate) config: &'a Config,
    pub(crate) labels: &'a BTreeMap<String, String>,
    pub(crate) address_type: AddressType,
}

impl Template<'_> {
    /// A new slice without endpoints.
    pub(crate) fn empty(&self, ports: Vec<EndpointPort>) -> EndpointSlice {
        let meta = &self.service.metadata;
        let name = meta.name.clone().unwrap_or_default();
        let owner = OwnerReference {
            api_version: "v1".to_owned(),
            kind: "Service".to_owned(),
            uid: meta.uid.clone().unwrap_or_default(),
            controller: Some(true),
            block_owner_deletion: Some(true),
            name: name.clone(),
        };
        EndpointSlice {
            address_type: self.address_type.as_str().to_owned(),
            metadata: ObjectMeta {
                generate_name: Some(format!("{}{name}-", self.config.name_prefix)),
                namespace: meta.namespace.clone(),
                labels: Some(self.labels.clone()),
                owner_references: Some(vec![owner]),
                ..ObjectMeta::default()
            },
            ports: Some(ports),
            endpoints: Vec::new(),
        }
    }
}
