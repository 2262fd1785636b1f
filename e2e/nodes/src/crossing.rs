//! How a Service crosses from one cluster to another, and the name that Pods call it by there. This is the one place that
//! knows both APIs.

use std::time::Duration;

use anyhow::Result;
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_testbed::agents::AgentOptions;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::wait::wait_for;
use fleet_testbed::{exchange, multicluster};

const DEADLINE: Duration = Duration::from_mins(1);

/// An API that carries Services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// That of SIG Multicluster: a ServiceExport, and a name in `clusterset.local` in each cluster with the namespace.
    Standard,
    /// That of the fleet: a ServiceExport, a MultiClusterService, and the derived Service with its name in `cluster.local`.
    Fleet,
}

impl Api {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Standard, Self::Fleet];

    /// Exports a Service and imports it in another cluster; the name that Pods there call it by.
    pub async fn cross(
        self,
        exporter: &Cluster,
        importer: &Cluster,
        (namespace, service): (&str, &str),
    ) -> Result<String> {
        match self {
            Self::Standard => {
                multicluster::export(exporter, namespace, service).await?;
                Ok(format!("{service}.{namespace}.svc.clusterset.local"))
            }
            Self::Fleet => {
                exchange::export(exporter, namespace, service).await?;
                exchange::import(importer, namespace, service, service).await?;
                let derived = wait_for("the import has a derived Service", DEADLINE, async || {
                    exchange::derived_service(importer, namespace, service).await
                });
                Ok(format!("{}.{SYSTEM_NAMESPACE}.svc.cluster.local", derived.await?))
            }
        }
    }

    /// Ends the export, and does not wait for the effect.
    pub async fn withdraw(self, exporter: &Cluster, namespace: &str, service: &str) -> Result<()> {
        match self {
            Self::Standard => multicluster::unexport(exporter, namespace, service).await,
            Self::Fleet => exchange::unexport(exporter, namespace, service).await,
        }
    }
}

/// Agents that serve both. `settle` is how long they watch the hub before they remove what it lacks.
pub fn agents(settle: Option<&str>) -> AgentOptions {
    let settle = settle.map(|settle| (multicluster::SETTLE.to_owned(), settle.to_owned()));
    let mode = (multicluster::MODE.to_owned(), "on".to_owned());
    let environment = settle.into_iter().chain([mode]).collect();
    AgentOptions { environment, ..AgentOptions::default() }
}
