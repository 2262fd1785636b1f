//! How a Service crosses from one cluster to another, and the name that Pods call it by there. This is the one place that
//! knows the API: a ServiceExport, a MultiClusterService, and the derived Service with its name in `cluster.local`.

use std::time::Duration;

use anyhow::Result;
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange;
use fleet_testbed::wait::wait_for;

/// What the user of the exporting cluster creates, with the name of the Service.
pub const EXPORT: &str = "ServiceExport";
/// What the user of the importing cluster creates, with the name of the Service.
pub const IMPORT: &str = "MultiClusterService";

const DEADLINE: Duration = Duration::from_mins(1);

/// Exports a Service and imports it in another cluster; the name that Pods there call it by, once it has one.
pub async fn cross(
    exporter: &Cluster,
    importer: &Cluster,
    namespace: &str,
    service: &str,
) -> Result<String> {
    exchange::export(exporter, namespace, service).await?;
    exchange::import(importer, namespace, service, service).await?;
    let derived = wait_for("the import has a derived Service", DEADLINE, async || {
        exchange::derived_service(importer, namespace, service).await
    });
    Ok(format!("{}.{SYSTEM_NAMESPACE}.svc.cluster.local", derived.await?))
}

/// Ends the export, and does not wait for the effect.
pub async fn withdraw(exporter: &Cluster, namespace: &str, service: &str) -> Result<()> {
    exchange::unexport(exporter, namespace, service).await
}
