//! Failures of hub and members on real servers: what members import outlasts them (docs/design/failures.md).

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_api::names::{SYSTEM_NAMESPACE, internal_export_candidates};
use fleet_api::{ObjectName, ResourceKind, annotations, kinds};
use fleet_testbed::agents::{AgentOptions, Agents};
use fleet_testbed::audit::WriteMeter;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::controlplane::ControlPlane;
use fleet_testbed::multicluster::{MODE, SETTLE};
use fleet_testbed::objects::{api, edit, find, remove};
use fleet_testbed::observer::{Observer, What};
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};
use fleet_testbed::{Testbed, crds, join, quota};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, PostParams};
use serde_json::{Value, json};

use crate::clusters::{Endpoints, from, gone, import, served};
use crate::user::{conditions, export};
use crate::{DEADLINE, SHOP};

/// The Service that lives through all of it.
const LASTING: &str = "lasting";
/// Long enough for exporters to write again what a restored hub lacks.
const SETTLES: &str = "5s";
/// Nothing is written for so long.
const QUIET: Duration = Duration::from_millis(1200);

/// The clusters, and the Service that east exports.
struct Scene<'a> {
    testbed: &'a Testbed,
    hub: &'a Cluster,
    plane: &'a ControlPlane,
    east: &'a Cluster,
    west: &'a Cluster,
    lasting: ManualService,
}

/// The chapters build on each other. Of an earlier test there may be Services, and no agents.
pub(crate) async fn story(testbed: &Testbed) -> Result<()> {
    let (hub, east, west) = (testbed.hub(), testbed.member(0), testbed.member(1));
    let plane = hub.control_plane().context("the hub is the testbed's")?;
    for member in [east, west] {
        join::namespace(&member.client(), SHOP).await?;
    }
    serve_v1beta1_alone(west).await?;
    let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let environment = vec![set(MODE, "on"), set(SETTLE, SETTLES)];
    let options = AgentOptions { environment, ..AgentOptions::default() };
    let mut agents = Agents::start(testbed, &options).await?;
    let addresses = [next_address()];
    let spec = ServiceSpec::http(SHOP, LASTING);
    let lasting = ManualService::deploy(east, &spec, &addresses).await?;
    export(east, "v1beta1", LASTING, &json!({})).await?;
    let scene = Scene { testbed, hub, plane, east, west, lasting };

    one_served_version_is_enough(&scene, &addresses).await?;
    an_address_that_is_refused_comes_later(&scene).await?;
    a_namespace_that_ends_is_left_to_its_end(&scene).await?;
    a_definition_of_the_hub_goes_and_comes(&scene).await?;
    a_restored_hub_takes_nothing_away(&scene).await?;
    a_hub_built_anew_takes_nothing_away(&scene).await?;
    agents.check_alive()
}

/// An installation of the API that is older, or newer, than the definitions of the chart: without v1alpha1, and without a field of
/// the status.
async fn serve_v1beta1_alone(west: &Cluster) -> Result<()> {
    let mut definitions = standard_definitions()?;
    for definition in &mut definitions {
        for version in &mut definition.spec.versions {
            version.served = version.name == "v1beta1";
            let schema = version.schema.as_mut().and_then(|it| it.open_api_v3_schema.as_mut());
            let properties = schema.and_then(|schema| schema.properties.as_mut());
            let status = properties.and_then(|properties| properties.get_mut("status"));
            let fields = status.and_then(|status| status.properties.as_mut());
            fields.and_then(|fields| fields.remove("endpointSliceObjects"));
        }
    }
    crds::install(&west.client(), &definitions).await
}

fn standard_definitions() -> Result<Vec<CustomResourceDefinition>> {
    let mut definitions = crds::load(&crds::STANDARD)?;
    definitions.retain(|definition| definition.spec.group == kinds::MCS_SERVICE_IMPORT.group);
    Ok(definitions)
}

impl Scene<'_> {
    /// Another endpoint of the lasting Service arrives in west.
    async fn change(&self) -> Result<DynamicObject> {
        let addresses = [next_address()];
        self.lasting.set_addresses(&addresses).await?;
        served(self.west, LASTING, &Endpoints::from([from(self.east, &addresses)])).await
    }

    /// A Service that east exports, as west imports it.
    async fn export(&self, name: &str) -> Result<DynamicObject> {
        let addresses = self.ask(name).await?;
        served(self.west, name, &Endpoints::from([from(self.east, &addresses)])).await
    }

    async fn ask(&self, name: &str) -> Result<[String; 1]> {
        let addresses = [next_address()];
        ManualService::deploy(self.east, &ServiceSpec::http(SHOP, name), &addresses).await?;
        export(self.east, "v1beta1", name, &json!({})).await?;
        Ok(addresses)
    }

    async fn resolved(&self, service: &str) -> Result<Option<DynamicObject>> {
        let service = ObjectName::new(SHOP, service);
        let name = internal_export_candidates(&service).next().context("a name")?;
        find(self.hub, kinds::RESOLVED_SERVICE, (SYSTEM_NAMESPACE, &name)).await
    }

    /// A restored hub has the young export again, and changes of the lasting one arrive, whose import is what it was.
    async fn young_comes_back(&self, before: &DynamicObject) -> Result<()> {
        wait_until("the hub has the young export again", DEADLINE, async || {
            Ok(self.resolved("young").await?.is_some())
        })
        .await?;
        let after = self.change().await?;
        ensure!(identity(&after) == identity(before), "{after:?}");
        Ok(())
    }

    /// What west has imported is watched: whatever of it goes.
    async fn watch(&self) -> Result<Observer> {
        let kinds = [kinds::MCS_SERVICE_IMPORT, kinds::SERVICE, kinds::ENDPOINT_SLICE];
        Observer::start_for(kinds.map(|kind| (self.west, kind))).await
    }
}

/// Uid and addresses of an import: what its clients keep.
fn identity(import: &DynamicObject) -> (Option<String>, Value) {
    (import.metadata.uid.clone(), import.data["spec"]["ips"].clone())
}

/// An error if something of a Service went.
fn nothing_went(observer: &mut Observer, services: &[&str]) -> Result<()> {
    let about = |name: &str| services.iter().any(|service| name.contains(service));
    let went: Vec<_> = observer
        .take()
        .into_iter()
        .filter(|seen| seen.what == What::Gone && (about(&seen.name()) || is_derived(&seen.name())))
        .map(|seen| seen.to_string())
        .collect();
    ensure!(went.is_empty(), "{went:?}");
    Ok(())
}

fn is_derived(name: &str) -> bool {
    name.starts_with("shop/derived-")
}

/// The agent works, and does not write again and again what the API server does not store.
async fn one_served_version_is_enough(scene: &Scene<'_>, addresses: &[String]) -> Result<()> {
    let wanted = Endpoints::from([from(scene.east, addresses)]);
    let found = served(scene.west, LASTING, &wanted).await?;
    ensure!(found.data["status"]["endpointSliceObjects"].is_null(), "{found:?}");
    let mut meter = WriteMeter::start(scene.testbed)?.about(LASTING);
    meter.wait_quiet(QUIET, Duration::from_secs(10)).await?;
    crds::install(&scene.west.client(), &standard_definitions()?).await
}

/// A quota of Services in one importer: the import has no address there, and is not ready; all others do not notice.
async fn an_address_that_is_refused_comes_later(scene: &Scene<'_>) -> Result<()> {
    const LATE: &str = "late";
    let Scene { east, west, .. } = scene;
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "one-too-many" },
        "spec": { "ports": [{ "port": 80 }] },
    });
    let none = [(kinds::SERVICE, 0)];
    quota::limit(&west.client(), SHOP, &none, (kinds::SERVICE, &service)).await?;
    let addresses = scene.ask(LATE).await?;
    let wanted = Endpoints::from([from(east, &addresses)]);
    served(east, LATE, &wanted).await?;
    wait_until("the import of west waits for an address", DEADLINE, async || {
        let Some(found) = import(west, LATE).await? else { return Ok(false) };
        ensure!(found.data["spec"]["ips"].is_null(), "{found:?}");
        let conditions = found.data["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        Ok(conditions.any(|it| it["type"] == "Ready" && it["reason"] == "Pending"))
    })
    .await?;
    let quotas = api(west.client(), QUOTA, Some(SHOP));
    quotas.delete(quota::FEW, &DeleteParams::default()).await?;
    let services = api(west.client(), kinds::SERVICE, Some(SHOP));
    let tried = PostParams { dry_run: true, ..PostParams::default() };
    let service: DynamicObject = serde_json::from_value(service)?;
    wait_until("the quota is gone", DEADLINE, async || {
        Ok(services.create(&tried, &service).await.is_ok())
    })
    .await?;
    // By itself it is tried again within a minute; any change is a reason to try at once.
    let addresses = [next_address()];
    let late = ManualService::existing(east, &ServiceSpec::http(SHOP, LATE));
    late.set_addresses(&addresses).await?;
    served(west, LATE, &Endpoints::from([from(east, &addresses)])).await?;
    remove(east, kinds::MCS_SERVICE_EXPORT, (SHOP, LATE)).await?;
    gone(west, LATE).await
}

/// Quotas are no kind that agents read.
const QUOTA: ResourceKind = ResourceKind {
    group: "",
    version: "v1",
    kind: "ResourceQuota",
    plural: "resourcequotas",
    namespaced: true,
};

/// Something keeps the namespace from going. Its imports went with the rest of it, and the agent writes nothing more there.
async fn a_namespace_that_ends_is_left_to_its_end(scene: &Scene<'_>) -> Result<()> {
    const FADING: &str = "fading";
    let Scene { east, west, .. } = scene;
    for member in [east, west] {
        join::namespace(&member.client(), FADING).await?;
    }
    let spec = ServiceSpec::http(FADING, "web");
    let web = ManualService::deploy(east, &spec, &[next_address()]).await?;
    fleet_testbed::multicluster::export(east, FADING, "web").await?;
    let key = (FADING, "web");
    wait_until("the import is in the namespace", DEADLINE, async || {
        let found = find(west, kinds::MCS_SERVICE_IMPORT, key).await?;
        Ok(found.is_some_and(|found| found.data["spec"]["ips"].is_array()))
    })
    .await?;
    let holder = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "holder", "namespace": FADING, "finalizers": ["example.com/hold"] },
    });
    let maps = api(west.client(), kinds::CONFIG_MAP, Some(FADING));
    maps.create(&PostParams::default(), &serde_json::from_value(holder)?).await?;
    let namespaces = api(west.client(), kinds::NAMESPACE, None);
    namespaces.delete(FADING, &DeleteParams::default()).await?;
    wait_until("the import went with its namespace", DEADLINE, async || {
        Ok(find(west, kinds::MCS_SERVICE_IMPORT, key).await?.is_none())
    })
    .await?;

    let mut meter = WriteMeter::start(scene.testbed)?.about(FADING);
    web.set_addresses(&[next_address()]).await?;
    meter.wait_quiet(QUIET, DEADLINE).await?;
    let wrong: Vec<_> =
        meter.writes().iter().filter(|(cluster, _)| cluster == west.name()).collect();
    ensure!(wrong.is_empty(), "{wrong:?}");
    let free = json!({ "metadata": { "finalizers": null } });
    edit(west, kinds::CONFIG_MAP, (FADING, "holder"), free).await?;
    remove(east, kinds::MCS_SERVICE_EXPORT, key).await
}

/// The definition of what is in force is deleted, with all such objects, and made again: the hub agent writes them again, and no
/// client notices.
async fn a_definition_of_the_hub_goes_and_comes(scene: &Scene<'_>) -> Result<()> {
    let before = import(scene.west, LASTING).await?.context("an import")?;
    let mut observer = scene.watch().await?;
    let kind = kinds::RESOLVED_SERVICE;
    let name = format!("{}.{}", kind.plural, kind.group);
    let definitions: Api<CustomResourceDefinition> = Api::all(scene.hub.client());
    definitions.delete(&name, &DeleteParams::default()).await?;
    wait_until("the definition is gone", DEADLINE, async || {
        Ok(definitions.get_opt(&name).await?.is_none())
    })
    .await?;
    crds::install(&scene.hub.client(), &crds::load(&crds::MULTICLUSTER)?).await?;
    wait_until("the hub agent has written it again", DEADLINE, async || {
        Ok(scene.resolved(LASTING).await?.is_some())
    })
    .await?;
    let after = scene.change().await?;
    ensure!(identity(&after) == identity(&before), "{after:?}");
    nothing_went(&mut observer, &[LASTING])
}

/// What is younger than the backup is written again, and never leaves the importer, neither while absence does not count nor after.
/// Restored once more, the store goes on from more than its clients have seen: no version shows that it went back.
async fn a_restored_hub_takes_nothing_away(scene: &Scene<'_>) -> Result<()> {
    let Scene { plane, east, west, .. } = scene;
    let saved = plane.save_store().await?;
    let young = scene.export("young").await?;
    let before = scene.change().await?;
    let mut observer = scene.watch().await?;
    plane.restore_store(&saved).await?;
    scene.young_comes_back(&before).await?;
    plane.restore_store_ahead(&saved).await?;
    scene.young_comes_back(&before).await?;

    // Labels change only when absence counts again.
    let labels = json!({ "spec": { "exportedLabels": { "team": "a" } } });
    edit(east, kinds::MCS_SERVICE_EXPORT, (SHOP, LASTING), labels).await?;
    wait_until("the import has the labels", DEADLINE, async || {
        let found = import(west, LASTING).await?;
        Ok(found.is_some_and(|it| json!(it.metadata.labels) == json!({ "team": "a" })))
    })
    .await?;
    let after = import(west, "young").await?.context("an import")?;
    ensure!(identity(&after) == identity(&young), "{after:?}");
    let shown = ["True Valid", "True Exported", "False NoConflicts"];
    ensure!(conditions(east, "young").await? == shown);
    nothing_went(&mut observer, &[LASTING, "young"])
}

/// Nothing of the fleet is left on the hub, and it is another one for its members. Imports keep their addresses and endpoints, and
/// get its mark when their exporters have come back.
async fn a_hub_built_anew_takes_nothing_away(scene: &Scene<'_>) -> Result<()> {
    let Scene { plane, west, .. } = scene;
    let before = import(west, LASTING).await?.context("an import")?;
    let mark = |import: &DynamicObject| {
        let marks = import.metadata.annotations.clone().unwrap_or_default();
        marks.get(annotations::MULTICLUSTER_HUB).cloned()
    };
    let mut observer = scene.watch().await?;
    plane.stop_apiserver().await;
    for prefix in ["multicluster.networking.fleet.azure.com/", "networking.fleet.azure.com/"] {
        plane.etcd().forget(prefix).await?;
    }
    // The API server makes it again, with another uid: by this clusters are distinguished.
    plane.etcd().forget("namespaces/kube-system").await?;
    plane.start_apiserver().await?;
    wait_until("the import is confirmed by the new hub", DEADLINE, async || {
        let found = import(west, LASTING).await?.context("an import")?;
        Ok(mark(&found).is_some() && mark(&found) != mark(&before))
    })
    .await?;
    let after = scene.change().await?;
    ensure!(identity(&after) == identity(&before), "{after:?}");
    nothing_went(&mut observer, &[LASTING, "young"])
}
