//! What users deploy in whole clusters, and what they ask from inside of a Pod.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_testbed::apply::apply;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::wait::{wait_for, wait_until};
use fleet_testbed::workload::wait_for_default_account;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::lookup::Found;
use crate::programs::{SERVER_IMAGE, SHELL_IMAGE};
use crate::sandbox::output;

/// Port of the servers' Pods.
pub const POD_PORT: u16 = 8080;
/// Port of their Services.
pub const PORT: u16 = 80;
const DEADLINE: Duration = Duration::from_mins(2);

/// A Deployment of servers that answer with their names, and its Service.
#[derive(Clone, Debug)]
pub struct Servers {
    namespace: String,
    name: String,
    kind: Kind,
}

/// What servers are, and what their Service is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A Deployment behind ClusterIPs.
    Deployment,
    /// A Deployment behind a headless Service.
    Headless,
    /// A `StatefulSet` behind a headless Service: its Pods have host names.
    StatefulSet,
}

impl Servers {
    /// Deploys servers behind a Service of that name, over TCP and UDP, and waits until all of them answer.
    pub async fn deploy(
        cluster: &Cluster,
        namespace: &str,
        name: &str,
        replicas: usize,
    ) -> Result<Self> {
        Self::existing(namespace, name, Kind::Deployment).apply(cluster, replicas).await
    }

    /// The same behind a headless Service.
    pub async fn deploy_headless(
        cluster: &Cluster,
        namespace: &str,
        name: &str,
        replicas: usize,
    ) -> Result<Self> {
        Self::existing(namespace, name, Kind::Headless).apply(cluster, replicas).await
    }

    /// The same with Pods that have host names.
    pub async fn deploy_set(
        cluster: &Cluster,
        namespace: &str,
        name: &str,
        replicas: usize,
    ) -> Result<Self> {
        Self::existing(namespace, name, Kind::StatefulSet).apply(cluster, replicas).await
    }

    /// Servers that are deployed already.
    pub fn existing(namespace: &str, name: &str, kind: Kind) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned(), kind }
    }

    async fn apply(self, cluster: &Cluster, replicas: usize) -> Result<Self> {
        let client = cluster.client();
        wait_for_default_account(&client, &self.namespace).await?;
        apply(&client, self.service()).await?;
        self.scale(cluster, replicas).await?;
        Ok(self)
    }

    /// Changes the number of servers, and waits until that many answer and no other is there.
    pub async fn scale(&self, cluster: &Cluster, replicas: usize) -> Result<()> {
        apply(&cluster.client(), self.workload(cluster.name(), replicas)).await?;
        let what = format!("{replicas} Pods of {} on {} are ready", self.name, cluster.name());
        wait_until(&what, DEADLINE, async || {
            let pods = self.pods(cluster).await?;
            Ok(pods.len() == replicas && pods.iter().all(is_ready))
        })
        .await
    }

    /// Addresses of its Pods.
    pub async fn addresses(&self, cluster: &Cluster) -> Result<BTreeSet<String>> {
        Ok(self.addresses_of_pods(cluster).await?.into_iter().flatten().collect())
    }

    /// Each Pod's host name with its addresses; without a name of its own it is known by each of its addresses, in which
    /// dashes stand for dots and colons.
    pub async fn hosts(&self, cluster: &Cluster) -> Result<Vec<(String, Vec<String>)>> {
        let pods = self.pods(cluster).await?;
        Ok(pods.iter().flat_map(hosts).collect())
    }

    /// The same for each Pod: IPv4, then IPv6.
    pub async fn addresses_of_pods(&self, cluster: &Cluster) -> Result<Vec<Vec<String>>> {
        Ok(self.pods(cluster).await?.iter().map(addresses).collect())
    }

    /// Names of its Pods.
    pub async fn pod_names(&self, cluster: &Cluster) -> Result<BTreeSet<String>> {
        Ok(self.pods(cluster).await?.into_iter().filter_map(|pod| pod.metadata.name).collect())
    }

    async fn pods(&self, cluster: &Cluster) -> Result<Vec<Pod>> {
        let pods: Api<Pod> = Api::namespaced(cluster.client(), &self.namespace);
        let of_this = ListParams::default().labels(&format!("app={}", self.name));
        Ok(pods.list(&of_this).await?.items)
    }

    /// The ClusterIPs of its Service.
    pub async fn cluster_ips(&self, cluster: &Cluster) -> Result<Vec<IpAddr>> {
        cluster_ips(cluster, &self.namespace, &self.name).await
    }

    fn service(&self) -> Value {
        let port = |name: &str, protocol: &str| json!({ "name": name, "protocol": protocol, "port": PORT, "targetPort": POD_PORT });
        let mut service = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": { "name": self.name, "namespace": self.namespace },
            "spec": {
                "ipFamilyPolicy": "PreferDualStack",
                "selector": { "app": self.name },
                "ports": [port("http", "TCP"), port("echo", "UDP")],
            },
        });
        if self.kind != Kind::Deployment {
            service["spec"]["clusterIP"] = json!("None");
        }
        service
    }

    fn workload(&self, cluster: &str, replicas: usize) -> Value {
        let mut workload = self.deployment(cluster, replicas);
        if self.kind == Kind::StatefulSet {
            workload["kind"] = json!("StatefulSet");
            workload["spec"]["serviceName"] = json!(self.name);
        }
        workload
    }

    fn deployment(&self, cluster: &str, replicas: usize) -> Value {
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
                        "terminationGracePeriodSeconds": 1,
                        "containers": [{
                            "name": "server",
                            "image": SERVER_IMAGE,
                            "imagePullPolicy": "Never",
                            "env": [{ "name": "CLUSTER", "value": cluster }],
                            "ports": [{ "containerPort": POD_PORT }],
                            "readinessProbe": {
                                "httpGet": { "path": "/", "port": POD_PORT },
                                "periodSeconds": 1,
                                "timeoutSeconds": 5,
                            },
                        }],
                    },
                },
            },
        })
    }
}

/// The ClusterIPs of a Service, once it has some.
pub async fn cluster_ips(cluster: &Cluster, namespace: &str, name: &str) -> Result<Vec<IpAddr>> {
    let services: Api<Service> = Api::namespaced(cluster.client(), namespace);
    let service = services.get(name).await?;
    let addresses = service.spec.and_then(|spec| spec.cluster_ips).unwrap_or_default();
    addresses.iter().map(|text| text.parse().context("an address")).collect()
}

/// A Pod that commands are run in, by `kubectl exec`: as users do, through API server and kubelet.
#[derive(Clone, Debug)]
pub struct Shell {
    kubectl: PathBuf,
    kubeconfig: PathBuf,
    namespace: String,
    name: String,
    cluster: String,
}

impl Shell {
    /// Starts a Pod that does nothing by itself, and waits until it runs.
    pub async fn start(
        cluster: &Cluster,
        kubectl: PathBuf,
        namespace: &str,
        name: &str,
    ) -> Result<Self> {
        let container = json!({
            "image": SHELL_IMAGE,
            "imagePullPolicy": "Never",
            "command": ["/pod-server", "pause"],
        });
        Self::start_in(cluster, kubectl, (namespace, name), container).await
    }

    /// Starts a Pod of one container, and waits until it runs.
    pub async fn start_in(
        cluster: &Cluster,
        kubectl: PathBuf,
        (namespace, name): (&str, &str),
        mut container: Value,
    ) -> Result<Self> {
        let client = cluster.client();
        wait_for_default_account(&client, namespace).await?;
        container["name"] = json!("shell");
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": name, "namespace": namespace },
            "spec": { "terminationGracePeriodSeconds": 0, "containers": [container] },
        });
        apply(&client, pod).await?;
        let pods: Api<Pod> = Api::namespaced(client, namespace);
        let what = format!("Pod {name} on {} runs", cluster.name());
        wait_until(&what, DEADLINE, async || Ok(is_ready(&pods.get(name).await?))).await?;
        Ok(Self {
            kubectl,
            kubeconfig: cluster.kubeconfig_path().to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            cluster: cluster.name().to_owned(),
        })
    }

    /// Runs a command in the Pod; its output, an error if it fails.
    pub async fn run(&self, command: &[&str]) -> Result<String> {
        let mut kubectl = Command::new(&self.kubectl);
        kubectl.arg("--kubeconfig").arg(&self.kubeconfig).kill_on_drop(true);
        kubectl.args(["--namespace", &self.namespace, "exec", &self.name, "--"]).args(command);
        let ran = output(&mut kubectl).await;
        ran.with_context(|| format!("`{}` in a Pod of {}", command.join(" "), self.cluster))
    }

    /// What a server at `host` answers over HTTP, where `host` is a name or an address.
    pub async fn get(&self, host: &str, port: u16) -> Result<Answer> {
        let url = url(host, port);
        Answer::parse(&self.run(&["wget", "-q", "-O", "-", "-T", "3", "-t", "1", &url]).await?)
    }

    /// Waits until something answers there.
    pub async fn wait_for_answer(&self, host: &str, port: u16) -> Result<()> {
        let what = format!("something answers at {host}, asked from {}", self.cluster);
        wait_for(&what, DEADLINE, async || self.get(host, port).await.map(Some)).await.map(drop)
    }

    /// What it answers to a datagram.
    pub async fn ask_by_udp(&self, host: &str, port: u16) -> Result<Answer> {
        let ask = format!("echo hello | nc -u -w 1 {host} {port}");
        Answer::parse(&self.run(&["sh", "-c", &ask]).await?)
    }

    /// Asks until servers of exactly these Pods have answered, and no other in a whole round.
    pub async fn wait_for_pods(
        &self,
        host: &str,
        port: u16,
        pods: &BTreeSet<String>,
    ) -> Result<()> {
        let what = format!("Pods {pods:?} answer at {host}, asked from {}", self.cluster);
        wait_until(&what, DEADLINE, async || {
            let round = 8 * pods.len();
            let url = url(host, port);
            let calls =
                format!("for i in $(seq {round}); do wget -q -O - -T 3 -t 1 {url} || exit 1; done");
            let answers = self.run(&["sh", "-c", &calls]).await?;
            let seen = answers.lines().map(Answer::parse).collect::<Result<Vec<_>>>()?;
            let seen: BTreeSet<String> = seen.into_iter().map(|answer| answer.pod).collect();
            ensure!(seen == *pods, "those that answer: {seen:?}");
            Ok(true)
        })
        .await
    }

    /// Waits until nothing answers there any more.
    pub async fn wait_for_silence(&self, host: &str, port: u16) -> Result<()> {
        let what = format!("nothing answers at {host}, asked from {}", self.cluster);
        wait_until(&what, DEADLINE, async || Ok(self.get(host, port).await.is_err())).await
    }

    /// What the Pod's DNS answers to a full name.
    pub async fn lookup(&self, kind: &str, name: &str) -> Result<Found> {
        // It fails where the name does not exist, with that as its output.
        let command = format!("nslookup -type={kind} {name}. 2>&1 || true");
        Found::of_nslookup(&self.run(&["sh", "-c", &command]).await?)
    }
}

fn url(host: &str, port: u16) -> String {
    if host.contains(':') {
        format!("http://[{host}]:{port}/")
    } else {
        format!("http://{host}:{port}/")
    }
}

/// Who answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Name of the cluster that the server runs in.
    pub cluster: String,
    /// Name of its Pod.
    pub pod: String,
    /// The address that it was asked from.
    pub client: String,
}

impl Answer {
    fn parse(line: &str) -> Result<Self> {
        let field = |name: &str| {
            let found = line.split_whitespace().find_map(|word| word.strip_prefix(name));
            found.map(str::to_owned).with_context(|| format!("no {name} in the answer `{line}`"))
        };
        Ok(Self { cluster: field("cluster=")?, pod: field("pod=")?, client: field("client=")? })
    }
}

fn addresses(pod: &Pod) -> Vec<String> {
    let status = pod.status.clone().unwrap_or_default();
    status.pod_ips.unwrap_or_default().into_iter().map(|address| address.ip).collect()
}

fn hosts(pod: &Pod) -> Vec<(String, Vec<String>)> {
    let addresses = addresses(pod);
    match pod.spec.as_ref().and_then(|spec| spec.hostname.clone()) {
        Some(name) => vec![(name, addresses)],
        None => {
            addresses.into_iter().map(|own| (own.replace(['.', ':'], "-"), vec![own])).collect()
        }
    }
}

pub(crate) fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let mut ready = conditions.filter(|one| one.type_ == "Ready");
    ready.any(|one| one.status == "True") && pod.metadata.deletion_timestamp.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_cluster_pod_and_client() {
        let answer = Answer::parse("cluster=east pod=web-1 client=10.200.0.7\n").unwrap();
        assert_eq!((answer.cluster.as_str(), answer.pod.as_str()), ("east", "web-1"));
        assert_eq!(answer.client, "10.200.0.7");
        assert!(Answer::parse("<html>").is_err());
    }
}
