//! Endpoints that the original does not carry: IPv6 addresses, and those that drain.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use fleet_api::{annotations, kinds, labels};
use fleet_model::hub_schema::{GROUP_VERSION, HubSchema};
use fleet_testbed::agents::Agents;
use fleet_testbed::audit::WriteMeter;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange::{imported_slices, wait_imported};
use fleet_testbed::objects::{Found, api, edit};
use fleet_testbed::wait::wait_until;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray,
};
use kube::Api;
use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};

use crate::shortfall::is_valid_but;
use crate::stage::{Crossing, DEADLINE, IMPORTER, Stage};
use crate::tests::Tests;

/// Agents look every 30 s what the hub serves.
const NOTICED: Duration = Duration::from_secs(90);

/// Longer than anything that agents put off.
const QUIET: Duration = Duration::from_secs(1);

const ADDRESS: &str = "2001:db8::15:1";

pub(crate) fn add(tests: &mut Tests) {
    tests.beside("endpoints::a_dual_stack_service_arrives", a_dual_stack_service_arrives);
    tests.beside("endpoints::what_drains_says_so_and_goes", what_drains_says_so_and_goes);
}

pub(crate) fn add_apart(tests: &mut Tests) {
    if std::env::var_os(fleet_testbed::fleet::HUB_KUBECONFIG).is_some() {
        return; // Definitions of existing clusters are not the suite's to change.
    }
    tests.apart("endpoints::the_originals_definitions_do", the_originals_definitions_do);
}

/// Both families of a Service arrive, each in its slice, and slices of names stay in their cluster, which the user reads.
async fn a_dual_stack_service_arrives(stage: &Stage) -> Result<()> {
    let mut crossing = stage.crossing("families", &[IMPORTER]).await?;
    add_slice(stage.exporter(), &crossing, "web-v6", "IPv6", ADDRESS).await?;
    add_slice(stage.exporter(), &crossing, "web-names", "FQDN", "web.example.com").await?;
    crossing.addresses.insert(ADDRESS.to_owned());
    crossing.arrived().await?;
    is_valid_but(stage, &crossing, Some("endpoints with FQDN addresses are not exported")).await?;
    let slices = imported_slices(stage.importer(), &crossing.derived(IMPORTER).await?).await?;
    let mut types: Vec<_> = slices.iter().map(|slice| slice.address_type.as_str()).collect();
    types.sort_unstable();
    ensure!(types == ["IPv4", "IPv6"], "{types:?}");
    for slice in &slices {
        let seen = slice.metadata.annotations.clone().unwrap_or_default();
        let origin = seen.get(annotations::ORIGIN_CLUSTER).map(String::as_str);
        ensure!(origin == Some(stage.exporter().name()), "{origin:?}");
        ensure!(seen.contains_key(annotations::SLICE_EXPORT_UID));
    }
    crossing.withdraw().await
}

/// An endpoint that terminates and still serves stays for traffic that nothing else takes, as such.
async fn what_drains_says_so_and_goes(stage: &Stage) -> Result<()> {
    let mut crossing = stage.crossing("draining", &[IMPORTER]).await?;
    let derived = crossing.derived(IMPORTER).await?;
    let address = crossing.addresses.pop_first().context("it has an address")?;
    drain(stage.exporter(), &crossing, &address).await?;
    let conditions = json!({ "ready": false, "serving": true, "terminating": true });
    let drained = json!([{ "addresses": [address], "conditions": conditions }]);
    wait_until("the endpoint drains on the importer", DEADLINE, async || {
        let slices = imported_slices(stage.importer(), &derived).await?;
        Ok(slices.len() == 1 && serde_json::to_value(&slices[0].endpoints)? == drained)
    })
    .await?;
    for found in of_kind(stage, &crossing, kinds::ENDPOINT_SLICE_EXPORT.kind).await? {
        let spec = &found.object.data["spec"];
        ensure!(spec["endpoints"] == json!([]), "a Go importer would take it for ready: {spec}");
    }
    edit(stage.exporter(), kinds::ENDPOINT_SLICE, crossing.key(), json!({ "endpoints": [] }))
        .await?;
    wait_until("the endpoint is gone", DEADLINE, async || {
        let slices = imported_slices(stage.importer(), &derived).await?;
        Ok(slices.iter().all(|slice| slice.endpoints.is_empty()))
    })
    .await?;
    crossing.withdraw().await
}

/// F48: a hub with the original's definitions works as it always did, at rest without writes; once it
/// has ours, IPv6 arrives without a restart.
async fn the_originals_definitions_do(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let ours = Definitions::read(stage.hub()).await?;
    ours.write(stage.hub(), as_the_original).await?;
    let result = async {
        wait_served(stage.hub(), HubSchema::ORIGINAL).await?;
        for agent in stage.fleet().agents() {
            agents.restart(agent).await?;
        }
        agents.wait_ready().await?;
        let mut crossing = old_hub(stage).await?;
        ours.write(stage.hub(), |_| ()).await?;
        crossing.addresses.insert(ADDRESS.to_owned());
        let (namespace, name) = crossing.key();
        wait_imported(stage.importer(), namespace, name, &crossing.addresses, NOTICED).await?;
        is_valid_but(stage, &crossing, None).await?;
        crossing.withdraw().await
    }
    .await;
    ours.write(stage.hub(), |_| ()).await?;
    result
}

/// What has to work on an old hub; the Service that it leaves has an IPv6 slice.
async fn old_hub(stage: &Stage) -> Result<Crossing<'_>> {
    let mut crossing = stage.crossing("oldhub", &[IMPORTER]).await?;
    add_slice(stage.exporter(), &crossing, "web-v6", "IPv6", ADDRESS).await?;
    let address = crossing.addresses.pop_first().context("it has an address")?;
    drain(stage.exporter(), &crossing, &address).await?;
    crossing.arrived().await?;
    is_valid_but(stage, &crossing, Some("endpoints with IPv6 addresses are not exported")).await?;

    // Who insists on a field that the hub prunes writes whenever it looks at the slice, and no version shows that.
    let mut meter = WriteMeter::start(stage)?.about(&crossing.namespace);
    meter.wait_quiet(QUIET, DEADLINE).await?;
    meter.take()?;
    let label = json!({ "metadata": { "labels": { "touched": "yes" } } });
    edit(stage.exporter(), kinds::ENDPOINT_SLICE, crossing.key(), label).await?;
    // Whatever had been left to do would come before another Service has arrived.
    let other = stage.crossing("oldhub-other", &[IMPORTER]).await?;
    let counts = meter.take()?;
    ensure!(counts.done() + counts.refused() + counts.failed() == 0, "written again: {counts}");
    for kind in [kinds::ENDPOINT_SLICE_EXPORT, kinds::ENDPOINT_SLICE_IMPORT] {
        let found = of_kind(stage, &crossing, kind.kind).await?;
        let [slice] = found.as_slice() else { bail!("one slice on the hub, not {found:?}") };
        let drains = &slice.object.data["spec"]["drainingEndpoints"];
        ensure!(drains.is_null(), "the hub has other definitions: {drains}");
    }
    other.withdraw().await?;
    Ok(crossing)
}

async fn of_kind(stage: &Stage, crossing: &Crossing<'_>, kind: &str) -> Result<Vec<Found>> {
    let mut found = stage.leftovers_of(&crossing.namespace).await?;
    found.retain(|found| found.kind.kind == kind);
    Ok(found)
}

async fn add_slice(
    cluster: &Cluster,
    crossing: &Crossing<'_>,
    name: &str,
    address_type: &str,
    address: &str,
) -> Result<()> {
    let slice: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": { "name": name, "labels": { labels::SERVICE_NAME: crossing.name } },
        "addressType": address_type,
        "endpoints": [{ "addresses": [address] }],
        "ports": [{ "name": "http", "protocol": "TCP", "port": 8080 }],
    }))?;
    let slices = api(cluster.client(), kinds::ENDPOINT_SLICE, Some(&crossing.namespace));
    slices.create(&PostParams::default(), &slice).await?;
    Ok(())
}

/// The Pod of the only endpoint is deleted.
async fn drain(cluster: &Cluster, crossing: &Crossing<'_>, address: &str) -> Result<()> {
    let conditions = json!({ "ready": false, "serving": true, "terminating": true });
    let endpoints = json!([{ "addresses": [address], "conditions": conditions }]);
    let patch = json!({ "endpoints": endpoints });
    edit(cluster, kinds::ENDPOINT_SLICE, crossing.key(), patch).await?;
    Ok(())
}

/// The definitions of the kinds that carry slices, as they were found.
struct Definitions(Vec<CustomResourceDefinition>);

impl Definitions {
    fn api(hub: &Cluster) -> Api<CustomResourceDefinition> {
        Api::all(hub.client())
    }

    async fn read(hub: &Cluster) -> Result<Self> {
        let mut found = Vec::new();
        for kind in [kinds::ENDPOINT_SLICE_EXPORT, kinds::ENDPOINT_SLICE_IMPORT] {
            found.push(Self::api(hub).get(&format!("{}.{}", kind.plural, kind.group)).await?);
        }
        Ok(Self(found))
    }

    /// Writes them back, with a change.
    async fn write(&self, hub: &Cluster, change: impl Fn(&mut JSONSchemaProps)) -> Result<()> {
        let api = Self::api(hub);
        for definition in &self.0 {
            let name = definition.metadata.name.as_deref().context("it has a name")?;
            let mut current = api.get(name).await?;
            current.spec = definition.spec.clone();
            for version in &mut current.spec.versions {
                let schema = version.schema.as_mut();
                let root = schema.and_then(|schema| schema.open_api_v3_schema.as_mut());
                root.and_then(|root| root.properties.as_mut()?.get_mut("spec")).map(&change);
            }
            api.replace(name, &PostParams::default(), &current).await?;
        }
        Ok(())
    }
}

/// Takes away from the schema of a slice what the original does not have.
fn as_the_original(spec: &mut JSONSchemaProps) {
    let Some(properties) = &mut spec.properties else { return };
    properties.remove("drainingEndpoints");
    if let Some(address_type) = properties.get_mut("addressType") {
        let ipv4 = |value: &_| serde_json::to_value(value).is_ok_and(|value| value == "IPv4");
        address_type.enum_.iter_mut().for_each(|values| values.retain(ipv4));
    }
    let endpoints = properties.get_mut("endpoints").and_then(|list| list.items.as_mut());
    let Some(JSONSchemaPropsOrArray::Schema(endpoint)) = endpoints else { return };
    for details in ["hostname", "zone", "executor"] {
        endpoint.properties.iter_mut().for_each(|properties| drop(properties.remove(details)));
    }
}

async fn wait_served(hub: &Cluster, wanted: HubSchema) -> Result<()> {
    let client = hub.client();
    let get = async |path: &str| -> Result<Value> {
        Ok(client.request(http::Request::get(path).body(Vec::new())?).await?)
    };
    wait_until("the hub serves other definitions", DEADLINE, async || {
        // The index lags behind, and it is what agents look at first.
        let index = get("/openapi/v3").await?;
        let entry = &index["paths"][format!("apis/{GROUP_VERSION}")]["serverRelativeURL"];
        let document = get(entry.as_str().context("the index names the group")?).await?;
        Ok(HubSchema::of(&document) == Some(wanted))
    })
    .await
}
