//! What users and proxies of a member see of an import.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use fleet_api::{annotations, kinds, labels};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::objects::{api, find};
use fleet_testbed::wait::wait_until;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::{DynamicObject, ListParams};
use serde_json::Value;

use crate::{DEADLINE, SHOP};

/// Addresses that take traffic, by the cluster that they are from.
pub(crate) type Endpoints = BTreeMap<String, BTreeSet<String>>;

/// Addresses of one cluster.
pub(crate) fn from(cluster: &Cluster, addresses: &[String]) -> (String, BTreeSet<String>) {
    (cluster.name().to_owned(), addresses.iter().cloned().collect())
}

/// The ServiceImport of a Service.
pub(crate) async fn import(member: &Cluster, service: &str) -> Result<Option<DynamicObject>> {
    find(member, kinds::MCS_SERVICE_IMPORT, (SHOP, service)).await
}

/// The imported slices of a Service.
pub(crate) async fn slices(member: &Cluster, service: &str) -> Result<Vec<EndpointSlice>> {
    let all: Api<EndpointSlice> = Api::namespaced(member.client(), SHOP);
    let imported = format!("{}={service}", labels::MULTICLUSTER_SERVICE_NAME);
    Ok(all.list(&ListParams::default().labels(&imported)).await?.items)
}

/// The derived Services of the namespace.
pub(crate) async fn derived(member: &Cluster) -> Result<Vec<Service>> {
    let all: Api<Service> = Api::namespaced(member.client(), SHOP);
    let all = all.list(&ListParams::default()).await?.items;
    let is_derived = |service: &Service| {
        service.metadata.name.as_deref().is_some_and(|name| name.starts_with("derived-"))
    };
    Ok(all.into_iter().filter(is_derived).collect())
}

/// The derived Service of an import.
pub(crate) async fn derived_of(member: &Cluster, import: &DynamicObject) -> Result<Service> {
    let marks = import.metadata.annotations.as_ref().context("an import has annotations")?;
    let name = marks.get(annotations::MULTICLUSTER_DERIVED_SERVICE).context("and a Service")?;
    Api::namespaced(member.client(), SHOP).get(name).await.context("the derived Service")
}

/// What proxies do with the slices: the endpoints of each cluster, which are bound to this Service, or to none.
pub(crate) fn endpoints(slices: &[EndpointSlice], service: Option<&str>) -> Result<Endpoints> {
    let mut endpoints = Endpoints::new();
    for slice in slices {
        let label = |key: &str| slice.metadata.labels.as_ref()?.get(key).map(String::as_str);
        let cluster = label(labels::MULTICLUSTER_SOURCE_CLUSTER).context("a source cluster")?;
        let bound = (label(labels::SERVICE_NAME), label(labels::HEADLESS).is_some());
        ensure!(bound == (service, service.is_none()), "{bound:?}");
        let addresses = slice.endpoints.iter().flat_map(|endpoint| endpoint.addresses.clone());
        endpoints.entry(cluster.to_owned()).or_default().extend(addresses);
    }
    Ok(endpoints)
}

fn is_ready(import: &DynamicObject) -> bool {
    let conditions = import.data["status"]["conditions"].as_array();
    let mut ready = conditions.into_iter().flatten().filter(|it| it["type"] == "Ready");
    ready.any(|it| {
        it["status"] == "True" && it["observedGeneration"].as_i64() == import.metadata.generation
    })
}

/// Waits until clients of a member reach exactly these endpoints at the addresses of the import, and returns that.
pub(crate) async fn served(
    member: &Cluster,
    service: &str,
    wanted: &Endpoints,
) -> Result<DynamicObject> {
    let what = format!("{} serves {service} from {wanted:?}", member.name());
    let mut last = None;
    let result = wait_until(&what, DEADLINE, async || {
        let Some(found) = import(member, service).await? else { return Ok(false) };
        let ready = is_ready(&found);
        last = Some(found.clone());
        if !ready {
            return Ok(false);
        }
        let headless = found.data["spec"]["type"] == "Headless";
        let ips = found.data["spec"]["ips"].clone();
        let bound = if headless {
            ensure!(ips.is_null(), "a headless import has addresses: {ips}");
            None
        } else {
            let derived = derived_of(member, &found).await?;
            let own = derived.spec.as_ref().and_then(|spec| spec.cluster_ips.clone());
            ensure!(ips == serde_json::to_value(&own)?, "{ips} are not {own:?}");
            derived.metadata.name
        };
        let has = endpoints(&slices(member, service).await?, bound.as_deref())?;
        Ok(has == *wanted && clusters(&found) == wanted.keys().cloned().collect())
    })
    .await;
    result.with_context(|| format!("{last:?}"))?;
    last.context("an import")
}

/// The exporting clusters, by the status.
fn clusters(import: &DynamicObject) -> BTreeSet<String> {
    let clusters = import.data["status"]["clusters"].as_array().into_iter().flatten();
    clusters.filter_map(|it| it["cluster"].as_str().map(str::to_owned)).collect()
}

/// Waits until nothing of an import is left in a member.
pub(crate) async fn gone(member: &Cluster, service: &str) -> Result<()> {
    let what = format!("nothing of {service} is left in {}", member.name());
    wait_until(&what, DEADLINE, async || {
        let imports = import(member, service).await?.is_some();
        let slices = slices(member, service).await?;
        let owned = |derived: &Service| {
            let mark = derived.metadata.annotations.as_ref();
            let mark = mark.and_then(|marks| marks.get(annotations::FLEET_SERVICE));
            mark.is_some_and(|mark| *mark == format!("{SHOP}/{service}"))
        };
        let derived = derived(member).await?;
        Ok(!imports && slices.is_empty() && !derived.iter().any(owned))
    })
    .await
}

/// What must not change while an agent is off: uid, content and versions of everything that is imported.
pub(crate) async fn frozen(member: &Cluster, service: &str) -> Result<Value> {
    let import = import(member, service).await?;
    let slices = slices(member, service).await?;
    let all = (import.map(|it| (it.metadata.uid, it.metadata.resource_version)), slices);
    Ok(serde_json::to_value((all, derived(member).await?))?)
}

/// All ServiceImports of the namespace are deleted, as an administrator does who uninstalls the agent.
pub(crate) async fn delete_imports(member: &Cluster) -> Result<()> {
    let all = api(member.client(), kinds::MCS_SERVICE_IMPORT, Some(SHOP));
    for import in all.list(&ListParams::default()).await?.items {
        let name = import.metadata.name.context("a name")?;
        all.delete(&name, &kube::api::DeleteParams::default()).await?;
    }
    Ok(())
}
