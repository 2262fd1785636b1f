//! Pods that answer with their names, many of them, and that can be made unready.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_load::serve;
use fleet_testbed::apply::apply;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::wait_for_default_account;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};

use crate::load::Program;
use crate::pods::is_ready;
use crate::programs::SHELL_IMAGE;

/// Port of their Service.
pub const PORT: u16 = 80;
const DEADLINE: Duration = Duration::from_mins(2);
/// Seconds that a Pod serves on after its deletion.
const GRACE: u64 = 2;

/// The only port of a Service, over TCP or UDP.
pub fn port(protocol: &str) -> Value {
    json!([{ "name": "load", "protocol": protocol, "port": PORT, "targetPort": serve::PORT }])
}

/// A Deployment of servers of [`fleet_load`], and its Service.
#[derive(Clone, Debug)]
pub struct Balanced<'a> {
    cluster: &'a Cluster,
    program: Program,
    namespace: String,
    name: String,
    fields: Value,
}

impl<'a> Balanced<'a> {
    /// Deploys that many, and waits until all are ready.
    pub async fn deploy(
        cluster: &'a Cluster,
        program: &Program,
        name: (&str, &str),
        replicas: usize,
    ) -> Result<Self> {
        Self::deploy_with(cluster, program, name, replicas, &json!({})).await
    }

    /// The same with fields of the Service's specification, which win over all others.
    pub async fn deploy_with(
        cluster: &'a Cluster,
        program: &Program,
        (namespace, name): (&str, &str),
        replicas: usize,
        fields: &Value,
    ) -> Result<Self> {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        let fields = fields.clone();
        let this = Self { cluster, program: program.clone(), namespace, name, fields };
        wait_for_default_account(&cluster.client(), &this.namespace).await?;
        apply(&cluster.client(), this.service()).await?;
        this.scale(replicas).await?;
        Ok(this)
    }

    /// Name of the cluster that they run in.
    pub fn cluster(&self) -> &'a Cluster {
        self.cluster
    }

    /// Changes their number, and waits until that many are ready and no other is there.
    pub async fn scale(&self, replicas: usize) -> Result<()> {
        apply(&self.cluster.client(), self.deployment(replicas)).await?;
        self.wait_ready(replicas, replicas).await
    }

    /// Changes their number, and waits for nothing.
    pub async fn begin_scale(&self, replicas: usize) -> Result<()> {
        apply(&self.cluster.client(), self.deployment(replicas)).await
    }

    /// Waits until this many are there, and so many of them are ready.
    pub async fn wait_ready(&self, all: usize, ready: usize) -> Result<()> {
        let (name, cluster) = (&self.name, self.cluster.name());
        let what = format!("{ready} of {all} Pods of {name} on {cluster} are ready");
        wait_until(&what, DEADLINE, async || {
            let pods = self.pods().await?;
            let found = pods.iter().filter(|pod| is_ready(pod)).count();
            Ok(pods.len() == all && found == ready)
        })
        .await
    }

    /// Addresses of its Pods, IPv4, in the order of the Pods' names.
    pub async fn addresses(&self) -> Result<Vec<IpAddr>> {
        let mut pods = self.pods().await?;
        pods.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        let addresses = pods.iter().map(|pod| {
            let status = pod.status.as_ref().context("a Pod without a status")?;
            let address = status.pod_ip.as_ref().context("a Pod without an address")?;
            address.parse().context("an address")
        });
        addresses.collect()
    }

    async fn pods(&self) -> Result<Vec<Pod>> {
        let pods: Api<Pod> = Api::namespaced(self.cluster.client(), &self.namespace);
        let of_this = ListParams::default().labels(&format!("app={}", self.name));
        let pods = pods.list(&of_this).await?.items;
        ensure!(pods.len() < 200, "{} Pods", pods.len());
        Ok(pods)
    }

    fn service(&self) -> Value {
        let mut spec = json!({ "selector": { "app": self.name }, "ports": port("TCP") });
        for (field, value) in self.fields.as_object().into_iter().flatten() {
            spec[field] = value.clone();
        }
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": { "name": self.name, "namespace": self.namespace },
            "spec": spec,
        })
    }

    fn deployment(&self, replicas: usize) -> Value {
        let labels = json!({ "app": self.name });
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": { "name": self.name, "namespace": self.namespace },
            "spec": {
                "replicas": replicas,
                "selector": { "matchLabels": labels },
                "template": {
                    "metadata": { "labels": labels },
                    "spec": {
                        "terminationGracePeriodSeconds": GRACE,
                        "containers": [self.container()],
                        "volumes": [self.program.volume()],
                    },
                },
            },
        })
    }

    fn container(&self) -> Value {
        let name = json!({ "fieldRef": { "fieldPath": "metadata.name" } });
        json!({
            "name": "server",
            "image": SHELL_IMAGE,
            "imagePullPolicy": "Never",
            "command": Program::command_in_pod("serve"),
            "env": [
                { "name": "CLUSTER", "value": self.cluster.name() },
                { "name": "HOSTNAME", "valueFrom": name },
            ],
            "ports": [{ "containerPort": serve::PORT }],
            "volumeMounts": [Program::mount()],
            "readinessProbe": {
                "tcpSocket": { "port": serve::READY_PORT },
                "periodSeconds": 1,
                "timeoutSeconds": 5,
                "failureThreshold": 1,
            },
        })
    }
}
