//! DNS of a cluster: CoreDNS as Pods behind the Service `kube-dns`, installed as `kubeadm` does, with the zone of the
//! clusterset where wanted.

use std::time::Duration;

use anyhow::{Context, Result};
use fleet_testbed::apply::apply;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::wait::wait_until;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use serde_json::{Value, json};

use crate::dns_address::DNS_ADDRESS;
use crate::programs::dns_image;

const NAMESPACE: &str = "kube-system";
const NAME: &str = "coredns";
const DEADLINE: Duration = Duration::from_mins(2);

/// What the DNS server answers for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zones {
    /// `cluster.local` alone.
    Cluster,
    /// `clusterset.local` too. The server becomes ready only where ServiceImports are served as v1alpha1, which it
    /// watches.
    Clusterset,
    /// The same, where Services without a ready endpoint have no name.
    ClustersetWithEndpoints,
}

impl Zones {
    /// The configuration of the DNS server.
    pub fn corefile(self) -> String {
        const MULTICLUSTER: &str = "        multicluster clusterset.local\n";
        let (zones, options) = match self {
            Self::Cluster => ("", String::new()),
            Self::Clusterset => (" clusterset.local", MULTICLUSTER.to_owned()),
            Self::ClustersetWithEndpoints => {
                (" clusterset.local", format!("{MULTICLUSTER}        ignore empty_service\n"))
            }
        };
        // Without a cache an answer is as new as the object that it is made of. Nothing is forwarded: there is no network
        // beyond.
        format!(
            ".:53 {{
    errors
    health
    ready
    kubernetes cluster.local{zones} in-addr.arpa ip6.arpa {{
        pods insecure
        ttl 5
{options}    }}
    loadbalance
}}
"
        )
    }
}

/// Installs DNS, or changes what it answers for, and waits until it answers.
pub async fn install(cluster: &Cluster, zones: Zones) -> Result<()> {
    let client = cluster.client();
    for manifest in manifests(zones)? {
        apply(&client, manifest).await?;
    }
    let deployments: Api<Deployment> = Api::namespaced(client, NAMESPACE);
    let what = format!("DNS of {} answers", cluster.name());
    wait_until(&what, DEADLINE, async || {
        let deployment = deployments.get(NAME).await?;
        Ok(is_rolled_out(&deployment))
    })
    .await
    .context("CoreDNS")
}

fn is_rolled_out(deployment: &Deployment) -> bool {
    let status = deployment.status.clone().unwrap_or_default();
    status.observed_generation == deployment.metadata.generation
        && status.updated_replicas == Some(1)
        && status.replicas == Some(1)
        && status.available_replicas == Some(1)
}

fn manifests(zones: Zones) -> Result<Vec<Value>> {
    let corefile = zones.corefile();
    let metadata = |name: &str| json!({ "name": name, "namespace": NAMESPACE });
    let labels = json!({ "k8s-app": "kube-dns" });
    let read = |group: &str, resources: &[&str]| json!({ "apiGroups": [group], "resources": resources, "verbs": ["list", "watch"] });
    let probe = |path: &str, port: u16| json!({ "httpGet": { "path": path, "port": port }, "periodSeconds": 1, "timeoutSeconds": 5 });
    Ok(vec![
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(NAME) }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": { "name": "system:coredns" },
            "rules": [
                read("", &["endpoints", "services", "pods", "namespaces"]),
                read("discovery.k8s.io", &["endpointslices"]),
                read("multicluster.x-k8s.io", &["serviceimports"]),
            ],
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": { "name": "system:coredns" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:coredns" },
            "subjects": [{ "kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE }],
        }),
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(NAME), "data": { "Corefile": corefile } }),
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata(NAME),
            "spec": {
                "replicas": 1,
                "strategy": { "type": "Recreate" },
                "selector": { "matchLabels": labels },
                "template": {
                    // Another configuration is another Pod: a mounted ConfigMap follows only after a minute.
                    "metadata": { "labels": labels, "annotations": { "corefile": corefile } },
                    "spec": {
                        "serviceAccountName": NAME,
                        "dnsPolicy": "Default",
                        "priorityClassName": "system-cluster-critical",
                        "terminationGracePeriodSeconds": 1,
                        "containers": [{
                            "name": NAME,
                            "image": dns_image()?,
                            "imagePullPolicy": "Never",
                            "args": ["-conf", "/etc/coredns/Corefile"],
                            "ports": [
                                { "name": "dns", "protocol": "UDP", "containerPort": 53 },
                                { "name": "dns-tcp", "protocol": "TCP", "containerPort": 53 },
                            ],
                            "readinessProbe": probe("/ready", 8181),
                            "livenessProbe": { "httpGet": { "path": "/health", "port": 8080 }, "initialDelaySeconds": 60, "timeoutSeconds": 5 },
                            "volumeMounts": [{ "name": "config", "mountPath": "/etc/coredns", "readOnly": true }],
                        }],
                        "volumes": [{ "name": "config", "configMap": { "name": NAME } }],
                    },
                },
            },
        }),
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": metadata("kube-dns"),
            "spec": {
                "clusterIP": DNS_ADDRESS,
                "selector": labels,
                "ports": [
                    { "name": "dns", "protocol": "UDP", "port": 53 },
                    { "name": "dns-tcp", "protocol": "TCP", "port": 53 },
                ],
            },
        }),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zone_of_the_clusterset_is_an_addition() {
        let (one, both) = (Zones::Cluster.corefile(), Zones::Clusterset.corefile());
        assert!(!one.contains("clusterset"));
        let without: Vec<String> = both
            .lines()
            .filter(|line| !line.contains("multicluster "))
            .map(|line| line.replace(" clusterset.local", ""))
            .collect();
        assert_eq!(without.join("\n") + "\n", one);
    }

    #[test]
    fn the_page_shows_what_is_tested() {
        let page = include_str!("../../../docs/dns.md");
        for zones in [Zones::Clusterset, Zones::ClustersetWithEndpoints] {
            assert!(page.contains(&zones.corefile()), "docs/dns.md lacks\n{}", zones.corefile());
        }
    }
}
