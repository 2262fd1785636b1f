//! Imported EndpointSlices.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use fleet_api::labels;
use fleet_nodes::pods::Kind;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::wait::{wait_for, wait_until};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::ListParams;
use serde_json::Value;

use super::hello::{FIRST, Hello, NAME};

const DEADLINE: Duration = Duration::from_mins(1);
/// What Kubernetes' own controller calls itself.
const OTHERS: &str = "endpointslice-controller.k8s.io";

/// One of each family in each cluster; once the export is gone, these are.
pub(super) async fn come_and_go(hello: Hello<'_>) -> Result<()> {
    hello.begin(Value::Null).await?;
    hello.serve(FIRST, Kind::Deployment, 1).await?;
    hello.export(FIRST).await?;
    let mut seen = Vec::new();
    for cluster in hello.clusters() {
        let slices = of_both_families(&hello, cluster).await?;
        for slice in &slices {
            ensure!(
                label(slice, labels::MULTICLUSTER_SOURCE_CLUSTER) == hello.cluster(FIRST).name()
            );
            let manager = label(slice, labels::MANAGED_BY);
            ensure!(!manager.is_empty() && manager != OTHERS, "{manager}");
        }
        seen.push((cluster, slices));
    }
    hello.unexport(FIRST).await?;
    for (cluster, slices) in seen {
        let all: Api<EndpointSlice> = Api::namespaced(cluster.client(), hello.namespace());
        for name in slices.into_iter().filter_map(|slice| slice.metadata.name) {
            let what = format!("{name} is gone from {}", cluster.name());
            wait_until(&what, DEADLINE, async || Ok(all.get_opt(&name).await?.is_none())).await?;
        }
    }
    Ok(())
}

async fn of_both_families(hello: &Hello<'_>, cluster: &Cluster) -> Result<Vec<EndpointSlice>> {
    let what = format!("{} has slices of both families", cluster.name());
    wait_for(&what, DEADLINE, async || {
        let slices = imported(hello, cluster).await?;
        let filled = slices.iter().filter(|slice| !slice.endpoints.is_empty());
        let families: BTreeSet<_> = filled.map(|slice| slice.address_type.as_str()).collect();
        ensure!(families == BTreeSet::from(["IPv4", "IPv6"]), "{slices:?}");
        Ok(Some(slices))
    })
    .await
}

/// The imported slices of a cluster.
pub(super) async fn imported(hello: &Hello<'_>, cluster: &Cluster) -> Result<Vec<EndpointSlice>> {
    let all: Api<EndpointSlice> = Api::namespaced(cluster.client(), hello.namespace());
    let imported = format!("{}={NAME}", labels::MULTICLUSTER_SERVICE_NAME);
    Ok(all.list(&ListParams::default().labels(&imported)).await?.items)
}

fn label<'a>(slice: &'a EndpointSlice, key: &str) -> &'a str {
    let found = slice.metadata.labels.as_ref().and_then(|labels| labels.get(key));
    found.map_or("", String::as_str)
}
