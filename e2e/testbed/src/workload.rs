//! A user's Service with its Pods. There is no kubelet: the Pods' status is filled in here, and the real EndpointSlice
//! controller makes the slices from it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use fleet_api::labels;
use futures::StreamExt;
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::{Node, Pod, Service, ServiceAccount};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::wait::{wait_for, wait_until};

/// The node that all Pods are bound to; the EndpointSlice controller skips Pods whose node does not exist.
pub const NODE: &str = "fleet-testbed";
const IN_FLIGHT: usize = 16;
const DEADLINE: Duration = Duration::from_mins(2);

/// One port of a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSpec {
    /// Name, unique in the Service.
    pub name: String,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: String,
    /// Port of the Service.
    pub port: u16,
    /// Port of the Pods.
    pub target: u16,
}

/// What a Service looks like.
#[derive(Clone, Debug)]
pub struct ServiceSpec {
    namespace: String,
    name: String,
    ports: Vec<PortSpec>,
    is_headless: bool,
}

impl ServiceSpec {
    /// A Service without ports; add at least one.
    pub fn new(namespace: &str, name: &str) -> Self {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        Self { namespace, name, ports: Vec::new(), is_headless: false }
    }

    /// A Service with the TCP port 80, served by the Pods' port 8080.
    pub fn http(namespace: &str, name: &str) -> Self {
        Self::new(namespace, name).port("http", "TCP", 80, 8080)
    }

    /// Adds a port.
    #[must_use]
    pub fn port(mut self, name: &str, protocol: &str, port: u16, target: u16) -> Self {
        let (name, protocol) = (name.to_owned(), protocol.to_owned());
        self.ports.push(PortSpec { name, protocol, port, target });
        self
    }

    /// Without an address of its own.
    #[must_use]
    pub fn headless(self) -> Self {
        Self { is_headless: true, ..self }
    }

    fn manifest(&self, selector: Option<Value>) -> Value {
        let mut spec = json!({ "ports": self.port_manifests() });
        if let Some(selector) = selector {
            spec["selector"] = selector;
        }
        if self.is_headless {
            spec["clusterIP"] = "None".into();
        }
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": { "namespace": self.namespace, "name": self.name },
            "spec": spec,
        })
    }

    fn port_manifests(&self) -> Value {
        let port = |port: &PortSpec| {
            json!({
                "name": port.name, "protocol": port.protocol,
                "port": port.port, "targetPort": port.target,
            })
        };
        self.ports.iter().map(port).collect()
    }
}

/// A Service and the Pods behind it.
#[derive(Debug)]
pub struct Workload {
    spec: ServiceSpec,
    /// Names and addresses, oldest first.
    pods: Vec<(String, String)>,
    made: usize,
    services: Api<Service>,
    pod_api: Api<Pod>,
    slices: Api<EndpointSlice>,
}

impl Workload {
    /// Makes the Service and its Pods and fills in the Pods' status; does not wait for slices.
    pub async fn deploy(cluster: &Cluster, spec: ServiceSpec, replicas: usize) -> Result<Self> {
        let client = cluster.client();
        ensure_node(&client).await?;
        wait_for_default_account(&client, &spec.namespace).await?;
        let services: Api<Service> = Api::namespaced(client.clone(), &spec.namespace);
        let service = serde_json::from_value(spec.manifest(Some(json!({ "app": spec.name }))))?;
        services
            .create(&PostParams::default(), &service)
            .await
            .with_context(|| format!("make the Service {}/{}", spec.namespace, spec.name))?;
        let pod_api = Api::namespaced(client.clone(), &spec.namespace);
        let slices = Api::namespaced(client, &spec.namespace);
        let mut workload = Self { spec, pods: Vec::new(), made: 0, services, pod_api, slices };
        workload.scale(replicas).await?;
        Ok(workload)
    }

    /// The Service's namespace.
    pub fn namespace(&self) -> &str {
        &self.spec.namespace
    }

    /// The Service's name.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// Names of the Pods, oldest first.
    pub fn pods(&self) -> impl Iterator<Item = &str> {
        self.pods.iter().map(|(name, _)| name.as_str())
    }

    /// Addresses of the Pods.
    pub fn addresses(&self) -> BTreeSet<String> {
        self.pods.iter().map(|(_, address)| address.clone()).collect()
    }

    /// Makes new Pods or deletes the newest ones until there are `replicas`.
    pub async fn scale(&mut self, replicas: usize) -> Result<()> {
        let missing = replicas.saturating_sub(self.pods.len());
        let new: Vec<(String, String)> = (self.made..self.made + missing)
            .map(|number| (format!("{}-{number}", self.spec.name), next_address()))
            .collect();
        self.made += missing;
        let surplus = self.pods.split_off(replicas.min(self.pods.len()));
        let this = &*self;
        futures::stream::iter(&new)
            .map(|(name, address)| this.make_pod(name, address))
            .buffer_unordered(IN_FLIGHT)
            .try_collect::<Vec<()>>()
            .await?;
        futures::stream::iter(&surplus)
            .map(|(name, _)| this.delete_pod(name))
            .buffer_unordered(IN_FLIGHT)
            .try_collect::<Vec<()>>()
            .await?;
        self.pods.extend(new);
        Ok(())
    }

    /// Changes whether a Pod counts as ready, as its kubelet would after a probe.
    pub async fn set_ready(&self, pod: &str, ready: bool) -> Result<()> {
        let patch = json!({ "status": { "conditions": conditions(ready) } });
        let params = PatchParams::default();
        self.pod_api.patch_status(pod, &params, &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Replaces the Service's ports.
    pub async fn set_ports(&mut self, spec: ServiceSpec) -> Result<()> {
        let patch = json!({ "spec": { "ports": spec.port_manifests() } });
        let params = PatchParams::default();
        self.services.patch(&self.spec.name, &params, &Patch::Merge(patch)).await?;
        self.spec.ports = spec.ports;
        Ok(())
    }

    /// The slices that the EndpointSlice controller made for the Service.
    pub async fn slices(&self) -> Result<Vec<EndpointSlice>> {
        let of_service = format!("{}={}", labels::SERVICE_NAME, self.spec.name);
        Ok(self.slices.list(&ListParams::default().labels(&of_service)).await?.items)
    }

    /// Waits until the slices hold exactly the Pods' addresses.
    pub async fn wait_for_slices(&self) -> Result<()> {
        let wanted = self.addresses();
        let what = format!("slices of {}/{} with {wanted:?}", self.spec.namespace, self.spec.name);
        wait_until(&what, DEADLINE, async || Ok(ready_addresses(&self.slices().await?) == wanted))
            .await
    }

    /// Deletes the Service and its Pods.
    pub async fn delete(mut self) -> Result<()> {
        self.services.delete(&self.spec.name, &DeleteParams::default()).await?;
        self.scale(0).await
    }

    async fn make_pod(&self, name: &str, address: &str) -> Result<()> {
        let pod = serde_json::from_value(json!({
            "metadata": { "name": name, "labels": { "app": self.spec.name } },
            "spec": {
                "nodeName": NODE,
                "containers": [{ "name": "app", "image": "example.com/not-run" }],
            },
        }))?;
        self.pod_api
            .create(&PostParams::default(), &pod)
            .await
            .with_context(|| format!("make the Pod {}/{name}", self.spec.namespace))?;
        let status = json!({ "status": {
            "phase": "Running",
            "podIP": address,
            "podIPs": [{ "ip": address }],
            "conditions": conditions(true),
        } });
        self.pod_api.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await?;
        Ok(())
    }

    async fn delete_pod(&self, name: &str) -> Result<()> {
        // With a grace period it would wait for its node's kubelet, for ever.
        let now = DeleteParams::default().grace_period(0);
        self.pod_api.delete(name, &now).await?;
        Ok(())
    }
}

/// A Service without selector whose slices its user writes: an endpoint change is exactly one request.
#[derive(Debug)]
pub struct ManualService {
    spec: ServiceSpec,
    slices: Api<EndpointSlice>,
    services: Api<Service>,
}

impl ManualService {
    /// Makes the Service and a slice with these addresses, both of the Service's name.
    pub async fn deploy(
        cluster: &Cluster,
        spec: &ServiceSpec,
        addresses: &[String],
    ) -> Result<Self> {
        let service = Self::existing(cluster, spec);
        let object = serde_json::from_value(spec.manifest(None))?;
        service.services.create(&PostParams::default(), &object).await?;
        service.add_slice(&spec.name, addresses).await?;
        Ok(service)
    }

    /// A Service that was deployed before.
    pub fn existing(cluster: &Cluster, spec: &ServiceSpec) -> Self {
        let services = Api::namespaced(cluster.client(), &spec.namespace);
        let slices = Api::namespaced(cluster.client(), &spec.namespace);
        Self { spec: spec.clone(), slices, services }
    }

    /// Makes a further slice.
    pub async fn add_slice(&self, name: &str, addresses: &[String]) -> Result<()> {
        let ports = self.spec.ports.iter().map(
            |port| json!({ "name": port.name, "protocol": port.protocol, "port": port.target }),
        );
        let slice = serde_json::from_value(json!({
            "metadata": { "name": name, "labels": { labels::SERVICE_NAME: self.spec.name } },
            "addressType": "IPv4",
            "endpoints": endpoints(addresses),
            "ports": ports.collect::<Value>(),
        }))?;
        self.slices.create(&PostParams::default(), &slice).await?;
        Ok(())
    }

    /// Deletes a slice.
    pub async fn remove_slice(&self, name: &str) -> Result<()> {
        self.slices.delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    /// Replaces the addresses of the first slice by one merge patch.
    pub async fn set_addresses(&self, addresses: &[String]) -> Result<()> {
        let patch = Patch::Merge(json!({ "endpoints": endpoints(addresses) }));
        self.slices.patch(&self.spec.name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// Deletes all slices and the Service.
    pub async fn delete(&self) -> Result<()> {
        let of_service = format!("{}={}", labels::SERVICE_NAME, self.spec.name);
        let all = ListParams::default().labels(&of_service);
        self.slices.delete_collection(&DeleteParams::default(), &all).await?;
        self.services.delete(&self.spec.name, &DeleteParams::default()).await?;
        Ok(())
    }
}

/// An address that no other Pod of this process has.
pub fn next_address() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    // 10.128.0.0/9: apart from the Services' addresses.
    let number = NEXT.fetch_add(1, Ordering::Relaxed) & 0x007f_ffff;
    std::net::Ipv4Addr::from(0x0a80_0000 | number).to_string()
}

/// Addresses of the endpoints that take traffic: an unset `ready` counts as ready.
pub fn ready_addresses(slices: &[EndpointSlice]) -> BTreeSet<String> {
    let endpoints = slices.iter().flat_map(|slice| slice.endpoints.iter());
    endpoints
        .filter(|endpoint| {
            endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) != Some(false)
        })
        .flat_map(|endpoint| endpoint.addresses.iter().cloned())
        .collect()
}

fn endpoints(addresses: &[String]) -> Value {
    addresses.iter().map(|address| json!({ "addresses": [address] })).collect()
}

fn conditions(ready: bool) -> Value {
    let status = |yes: bool| if yes { "True" } else { "False" };
    json!([
        { "type": "PodScheduled", "status": "True" },
        { "type": "Initialized", "status": "True" },
        { "type": "ContainersReady", "status": status(ready) },
        { "type": "Ready", "status": status(ready) },
    ])
}

/// Makes the [node](NODE), if there is none.
pub async fn ensure_node(client: &Client) -> Result<()> {
    let nodes: Api<Node> = Api::all(client.clone());
    if nodes.get_opt(NODE).await?.is_some() {
        return Ok(());
    }
    let node = serde_json::from_value(json!({ "metadata": { "name": NODE } }))?;
    match nodes.create(&PostParams::default(), &node).await {
        // Several workloads may start at once.
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        Ok(_) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Pods are refused until a controller has made the namespace's default service account.
pub async fn wait_for_default_account(client: &Client, namespace: &str) -> Result<()> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let what = format!("the default service account of {namespace}");
    wait_for(&what, DEADLINE, async || Ok(accounts.get_opt("default").await?)).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_distinct() {
        let some: BTreeSet<String> = (0..300).map(|_| next_address()).collect();
        assert_eq!(some.len(), 300);
        assert!(some.iter().all(|address| address.starts_with("10.1")));
    }

    #[test]
    fn unready_endpoints_take_no_traffic() {
        let slice = serde_json::from_value(json!({
            "addressType": "IPv4",
            "endpoints": [
                { "addresses": ["10.0.0.1"] },
                { "addresses": ["10.0.0.2"], "conditions": { "ready": true } },
                { "addresses": ["10.0.0.3"], "conditions": { "ready": false } },
            ],
        }))
        .unwrap();
        let addresses = ready_addresses(&[slice]);
        assert_eq!(addresses, BTreeSet::from(["10.0.0.1".to_owned(), "10.0.0.2".to_owned()]));
    }
}
