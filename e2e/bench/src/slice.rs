//! What users write: a Service with one EndpointSlice of a fixed number of endpoints, and changes of it.

use std::collections::VecDeque;

use anyhow::Result;
use fleet_api::labels;
use http::Request;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::{Value, json};

use fleet_testbed::workload::next_address;

/// Endpoints of a slice, as in the measurements that the limits come from.
const ENDPOINTS: usize = 10;

/// A user's EndpointSlice.
#[derive(Debug)]
pub(super) struct Slice {
    path: String,
    addresses: VecDeque<String>,
}

impl Slice {
    /// Makes a slice that belongs to no Service, which the agents do not look at, or takes one that is there: each
    /// change sets all of it.
    pub(super) async fn alone(client: &Client, namespace: &str, name: &str) -> Result<Self> {
        let addresses: VecDeque<String> = (0..ENDPOINTS).map(|_| next_address()).collect();
        // As long as the label of a Service's slice.
        let labels = json!({ "kubernetes.io/bench-slices": name });
        match create(client, namespace, name, &labels, &addresses).await {
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            made => made?,
        }
        Ok(Self { path: path(namespace, name), addresses })
    }

    /// Makes a Service without selector, and its slice.
    pub(super) async fn of_service(client: &Client, namespace: &str, name: &str) -> Result<Self> {
        let services: Api<Service> = Api::namespaced(client.clone(), namespace);
        let service = serde_json::from_value(json!({
            "metadata": { "name": name },
            "spec": { "ports": [{ "name": "http", "port": 80, "targetPort": 8080 }] },
        }))?;
        services.create(&PostParams::default(), &service).await?;
        let addresses: VecDeque<String> = (0..ENDPOINTS).map(|_| next_address()).collect();
        create(client, namespace, name, &json!({ labels::SERVICE_NAME: name }), &addresses).await?;
        Ok(Self { path: path(namespace, name), addresses })
    }

    /// An address that the slice has now.
    pub(super) fn address(&self) -> &str {
        &self.addresses[ENDPOINTS - 1]
    }

    /// The next change: the request, and the address that it brings in place of the oldest one.
    pub(super) fn next_change(&mut self) -> Result<(Request<Vec<u8>>, String)> {
        let address = next_address();
        self.addresses.pop_front();
        self.addresses.push_back(address.clone());
        let patch = json!({ "endpoints": endpoints(&self.addresses) });
        let request = Request::patch(&self.path)
            .header(http::header::ACCEPT, "application/json")
            .header(http::header::CONTENT_TYPE, "application/merge-patch+json")
            .body(serde_json::to_vec(&patch)?)?;
        Ok((request, address))
    }
}

fn path(namespace: &str, name: &str) -> String {
    format!("/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices/{name}")
}

fn endpoints(addresses: &VecDeque<String>) -> Value {
    addresses.iter().map(|address| json!({ "addresses": [address] })).collect()
}

async fn create(
    client: &Client,
    namespace: &str,
    name: &str,
    labels: &Value,
    addresses: &VecDeque<String>,
) -> kube::Result<()> {
    let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), namespace);
    let slice = json!({
        "metadata": { "name": name, "labels": labels },
        "addressType": "IPv4",
        "endpoints": endpoints(addresses),
        "ports": [{ "name": "http", "protocol": "TCP", "port": 8080 }],
    });
    let slice = serde_json::from_value(slice).map_err(kube::Error::SerdeError)?;
    slices.create(&PostParams::default(), &slice).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_replaces_one_endpoint_of_ten() {
        let addresses = (0..ENDPOINTS).map(|_| next_address()).collect();
        let mut slice = Slice { path: path("n", "s"), addresses };
        let before = slice.addresses.clone();
        let (request, address) = slice.next_change().unwrap();
        assert_eq!(slice.address(), address);
        let sent: Value = serde_json::from_slice(request.body()).unwrap();
        let sent = sent["endpoints"].as_array().unwrap();
        assert_eq!(sent.len(), ENDPOINTS);
        assert_eq!(sent[0]["addresses"][0], before[1]);
        assert_eq!(sent[ENDPOINTS - 1]["addresses"][0], address);
    }
}
