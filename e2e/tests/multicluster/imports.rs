//! What members import through the standard API, with every write counted.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_api::multicluster::standard::CLUSTERSET_ID;
use fleet_api::{kinds, labels};
use fleet_oracle::Recording;
use fleet_oracle::recorder::Recorder;
use fleet_oracle::rights::{refused, unused_for_standard};
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::audit::{Write, WriteMeter};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::objects::{api, edit, find, remove};
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};
use fleet_testbed::{Testbed, join};
use kube::api::PostParams;
use serde_json::{Value, json};

use crate::clusters::{
    self, Endpoints, delete_imports, derived, derived_of, from, frozen, gone, import, served,
};
use crate::user::{export, service};
use crate::writes::{Count, lines};
use crate::{DEADLINE, EAST, MODE, SHOP, WEB, WEST, options, prepare, property, reported};

/// A member whose namespace appears late.
const SOUTH: Agent = Agent::Member(2);
/// How long nothing at all may be written.
const REST: Duration = Duration::from_mins(1);

/// Three members and what runs in them.
struct Clusters<'a> {
    testbed: &'a Testbed,
    east: &'a Cluster,
    west: &'a Cluster,
    south: &'a Cluster,
}

impl Clusters<'_> {
    async fn count(&self, what: &'static str) -> Result<Count> {
        Count::start(self.testbed, what).await
    }

    fn all(&self) -> [&Cluster; 3] {
        [self.east, self.west, self.south]
    }

    /// Waits until these members serve a Service from these clusters.
    async fn serve(&self, members: &[&Cluster], name: &str, wanted: &Endpoints) -> Result<()> {
        for member in members {
            served(member, name, wanted).await?;
        }
        Ok(())
    }
}

/// The chapters build on each other: each needs what the one before has left.
pub(crate) async fn story(testbed: &Testbed) -> Result<()> {
    prepare(testbed).await?;
    let recorder = Recorder::start(testbed).await?;
    let [east, west, south] = [0, 1, 2].map(|position| testbed.member(position));
    let clusters = Clusters { testbed, east, west, south };
    for member in [east, west] {
        join::namespace(&member.client(), SHOP).await?;
    }
    let mut agents = Agents::start(testbed, &options()).await?;
    all_have_published(testbed).await?;

    let mut web = a_first_export(&clusters).await?;
    let here = an_endpoint_change(&clusters, &mut web).await?;
    a_namespace_appears(&clusters, &here).await?;
    let there = a_second_exporter(&clusters, &here).await?;
    exported_labels_change(&clusters).await?;
    one_of_two_unexports(&clusters, &there).await?;
    the_last_unexports(&clusters).await?;
    a_headless_service(&clusters).await?;
    another_implementation_is_left_alone(&clusters).await?;
    what_users_change_is_put_right(&clusters).await?;
    recorder.mark("begin without the hub");
    own_endpoints_follow_without_the_hub(&clusters, &mut agents).await?;
    recorder.mark("end without the hub");
    nothing_is_written_at_rest(testbed).await?;
    recorder.mark("begin without agents");
    switched_off_and_cleaned_up(&clusters, &mut agents).await?;
    uninstalled(&clusters, &mut agents).await?;

    agents.check_alive()?;
    drop(agents);
    recorder.stop().await?;
    let recording = Recording::read(testbed.run_path())?;
    let refused = refused(&recording);
    ensure!(refused.is_empty(), "{refused:?}");
    let unused = unused_for_standard(&recording)?;
    ensure!(unused.is_empty(), "{unused:?}");
    let verdict = fleet_oracle::judge(&recording);
    eprintln!("the oracle, of imports: {verdict}");
    ensure!(verdict.violations.is_empty(), "{}", fleet_oracle::stories(&recording, &verdict));
    Ok(())
}

/// Waits until the hub knows that it has all exports of all members: from then on nothing is written without a change.
async fn all_have_published(testbed: &Testbed) -> Result<()> {
    for member in testbed.members() {
        let (namespace, name) = (fleet_api::names::member_namespace(member.name()), member.name());
        wait_until(&format!("the mark of {name}"), DEADLINE, async || {
            let report = find(testbed.hub(), kinds::CLUSTER_REPORT, (&namespace, name)).await?;
            Ok(report.is_some_and(|report| report.data["spec"]["publishedTo"].is_string()))
        })
        .await?;
    }
    Ok(())
}

/// Three writes on the hub, the condition of the export, and five in each cluster with the namespace, the exporter's among
/// them.
async fn a_first_export(clusters: &Clusters<'_>) -> Result<ManualService> {
    let Clusters { east, west, south, .. } = clusters;
    let addresses = [next_address()];
    let spec = ServiceSpec::http(SHOP, WEB);
    let count = clusters.count("a first export").await?;
    let web = ManualService::deploy(east, &spec, &addresses).await?;
    export(east, "v1beta1", WEB, &json!({})).await?;
    let wanted = Endpoints::from([from(east, &addresses)]);
    clusters.serve(&[east, west], WEB, &wanted).await?;
    count.expect(3, 1 + 2 * 5).await?;
    let found = import(west, WEB).await?.context("an import")?;
    ensure!(found.data["status"]["endpointSliceObjects"] == "Present", "{found:?}");
    ensure!(found.data["spec"]["ipFamilies"] == json!(["IPv4"]), "{found:?}");
    gone(south, WEB).await?;
    Ok(web)
}

/// One write on the hub, whatever the number of importers, and one in each cluster.
async fn an_endpoint_change(
    clusters: &Clusters<'_>,
    web: &mut ManualService,
) -> Result<Vec<String>> {
    let Clusters { east, west, .. } = clusters;
    let mut addresses = Vec::new();
    for endpoints in [2, 1, 3] {
        addresses = (0..endpoints).map(|_| next_address()).collect();
        let count = clusters.count("an endpoint change").await?;
        web.set_addresses(&addresses).await?;
        let wanted = Endpoints::from([from(east, &addresses)]);
        clusters.serve(&[east, west], WEB, &wanted).await?;
        count.expect(1, 2).await?;
    }
    Ok(addresses)
}

async fn a_namespace_appears(clusters: &Clusters<'_>, here: &[String]) -> Result<()> {
    let count = clusters.count("a namespace appears").await?;
    join::namespace(&clusters.south.client(), SHOP).await?;
    served(clusters.south, WEB, &Endpoints::from([from(clusters.east, here)])).await?;
    count.expect(0, 5).await
}

/// Returns the addresses of the second exporter.
async fn a_second_exporter(clusters: &Clusters<'_>, here: &[String]) -> Result<Vec<String>> {
    let Clusters { east, west, .. } = clusters;
    let there = vec![next_address()];
    let count = clusters.count("a second exporter").await?;
    ManualService::deploy(west, &ServiceSpec::http(SHOP, WEB), &there).await?;
    export(west, "v1beta1", WEB, &json!({})).await?;
    let wanted = Endpoints::from([from(east, here), from(west, &there)]);
    clusters.serve(&clusters.all(), WEB, &wanted).await?;
    count.expect(3, 1 + 3 * 2).await?;
    Ok(there)
}

/// The labels of the oldest export are on the imports. The other one agrees in the end.
async fn exported_labels_change(clusters: &Clusters<'_>) -> Result<()> {
    let labels = json!({ "spec": { "exportedLabels": { "team": "a" } } });
    edit(clusters.east, kinds::MCS_SERVICE_EXPORT, (SHOP, WEB), labels.clone()).await?;
    for member in clusters.all() {
        let what = format!("the labels of the import in {}", member.name());
        wait_until(&what, DEADLINE, async || {
            let found = import(member, WEB).await?;
            Ok(found.is_some_and(|it| json!(it.metadata.labels) == json!({ "team": "a" })))
        })
        .await?;
    }
    reported(clusters.west, WEB, ["True Valid", "True Exported", "True LabelsConflict"]).await?;
    edit(clusters.west, kinds::MCS_SERVICE_EXPORT, (SHOP, WEB), labels).await?;
    for exporter in [clusters.east, clusters.west] {
        reported(exporter, WEB, ["True Valid", "True Exported", "False NoConflicts"]).await?;
    }
    Ok(())
}

/// The import stays what it is for its clients, also in the cluster that exports no more.
async fn one_of_two_unexports(clusters: &Clusters<'_>, there: &[String]) -> Result<()> {
    let before = identity(clusters).await?;
    let count = clusters.count("one of two unexports").await?;
    remove(clusters.east, kinds::MCS_SERVICE_EXPORT, (SHOP, WEB)).await?;
    let wanted = Endpoints::from([from(clusters.west, there)]);
    clusters.serve(&clusters.all(), WEB, &wanted).await?;
    count.expect(3, 3 * 2).await?;
    ensure!(identity(clusters).await? == before, "{before:?}");
    Ok(())
}

/// Uid and addresses of the import in each cluster.
async fn identity(clusters: &Clusters<'_>) -> Result<Vec<(Option<String>, Value)>> {
    let mut found = Vec::new();
    for member in clusters.all() {
        let import = import(member, WEB).await?.context("an import")?;
        found.push((import.metadata.uid, import.data["spec"]["ips"].clone()));
    }
    Ok(found)
}

/// The ServiceImport goes first. The garbage collector may be faster than the agents with the rest.
async fn the_last_unexports(clusters: &Clusters<'_>) -> Result<()> {
    let count = clusters.count("the last unexports").await?;
    remove(clusters.west, kinds::MCS_SERVICE_EXPORT, (SHOP, WEB)).await?;
    for member in clusters.all() {
        gone(member, WEB).await?;
    }
    let writes = count.writes().await?;
    let on_hub = writes.iter().filter(|(cluster, _)| cluster == "hub").count();
    let only_deleted =
        writes.iter().all(|(cluster, write)| cluster == "hub" || write.verb == "delete");
    ensure!(on_hub == 3 && writes.len() <= 3 + 3 * 3 && only_deleted, "{}", lines(&writes));
    Ok(())
}

/// No address, no derived Service, and host names for DNS.
async fn a_headless_service(clusters: &Clusters<'_>) -> Result<()> {
    const NAME: &str = "headless";
    let Clusters { east, west, .. } = clusters;
    let count = clusters.count("a headless Service").await?;
    let headless = json!({ "clusterIP": "None", "ports": [{ "name": "http", "port": 80 }] });
    service(east, NAME, &headless).await?;
    let addresses = [next_address()];
    slice(east, NAME, &addresses[0]).await?;
    export(east, "v1alpha1", NAME, &json!({})).await?;
    let wanted = Endpoints::from([from(east, &addresses)]);
    clusters.serve(&clusters.all(), NAME, &wanted).await?;
    count.expect(3, 1 + 3 * 3).await?;
    for member in [east, west] {
        let slices = clusters::slices(member, NAME).await?;
        let endpoint = slices.first().and_then(|slice| slice.endpoints.first());
        let endpoint = endpoint.context("an endpoint")?;
        let node = endpoint.node_name.as_deref();
        ensure!(endpoint.hostname.as_deref() == Some("headless-0"), "{endpoint:?}");
        ensure!(node == (member.name() == east.name()).then_some("node-1"), "{endpoint:?}");
        ensure!(endpoint.target_ref.is_none(), "{endpoint:?}");
    }
    remove(east, kinds::MCS_SERVICE_EXPORT, (SHOP, NAME)).await?;
    for member in clusters.all() {
        gone(member, NAME).await?;
    }
    Ok(())
}

/// A slice of one endpoint, with what a controller knows of its Pod.
async fn slice(member: &Cluster, service: &str, address: &str) -> Result<()> {
    let slice = serde_json::from_value(json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": { "name": service, "labels": { labels::SERVICE_NAME: service } },
        "addressType": "IPv4", "ports": [{ "name": "http", "port": 8080 }],
        "endpoints": [{
            "addresses": [address], "hostname": format!("{service}-0"), "nodeName": "node-1",
            "targetRef": { "kind": "Pod", "name": format!("{service}-0") },
        }],
    }))?;
    let all = api(member.client(), kinds::ENDPOINT_SLICE, Some(SHOP));
    all.create(&PostParams::default(), &slice).await?;
    Ok(())
}

/// The name of the Service of the next chapters.
const ALIEN: &str = "alien";

/// Another implementation has made a ServiceImport in one cluster: nothing is written about that Service there, until it is deleted.
async fn another_implementation_is_left_alone(clusters: &Clusters<'_>) -> Result<()> {
    let Clusters { east, west, south, .. } = clusters;
    let theirs = json!({
        "apiVersion": kinds::MCS_SERVICE_IMPORT.api_version(), "kind": "ServiceImport",
        "metadata": { "name": ALIEN, "namespace": SHOP },
        "spec": { "type": "ClusterSetIP", "ports": [], "ips": ["192.0.2.1"] },
    });
    let imports = api(west.client(), kinds::MCS_SERVICE_IMPORT, Some(SHOP));
    imports.create(&PostParams::default(), &serde_json::from_value(theirs)?).await?;
    let before = frozen(west, ALIEN).await?;
    let addresses = [next_address()];
    let wanted = Endpoints::from([from(east, &addresses)]);
    let count = clusters.count("another implementation's import").await?;
    ManualService::deploy(east, &ServiceSpec::http(SHOP, ALIEN), &addresses).await?;
    export(east, "v1beta1", ALIEN, &json!({})).await?;
    clusters.serve(&[east, south], ALIEN, &wanted).await?;
    count.expect(3, 1 + 2 * 5).await?;
    ensure!(frozen(west, ALIEN).await? == before, "{before}");

    let count = clusters.count("another implementation's import is deleted").await?;
    remove(west, kinds::MCS_SERVICE_IMPORT, (SHOP, ALIEN)).await?;
    served(west, ALIEN, &wanted).await?;
    count.expect(0, 5).await
}

/// One write for each object that a user has changed; a derived Service comes back with its address.
async fn what_users_change_is_put_right(clusters: &Clusters<'_>) -> Result<()> {
    let west = clusters.west;
    let found = import(west, ALIEN).await?.context("an import")?;
    let service = derived_of(west, &found).await?.metadata.name.context("a name")?;
    let slices = clusters::slices(west, ALIEN).await?;
    let slice = slices[0].metadata.name.clone().context("a name")?;
    let before = clusters::endpoints(&slices, Some(&service))?;

    let count = clusters.count("a derived Service is changed").await?;
    let evil = json!({ "spec": {
        "selector": { "app": "evil" }, "sessionAffinity": "ClientIP", "type": "NodePort",
        "trafficDistribution": "PreferClose", "internalTrafficPolicy": "Local",
    } });
    edit(west, kinds::SERVICE, (SHOP, &service), evil).await?;
    wait_until("the derived Service is as it was", DEADLINE, async || {
        let spec = derived_of(west, &found).await?.spec.context("a spec")?;
        Ok(spec.selector.is_none_or(|selector| selector.is_empty())
            && spec.type_.as_deref() == Some("ClusterIP")
            && spec.session_affinity.as_deref() == Some("None")
            && spec.internal_traffic_policy.as_deref() == Some("Cluster")
            && spec.traffic_distribution.is_none())
    })
    .await?;
    // With the selector, kube-controller-manager may have begun to write endpoints of the Service: they go, too.
    let writes = count.writes().await?;
    let is_left_over = |write: &Write| write.verb == "delete" && write.resource == "endpointslices";
    let others = writes.iter().filter(|(_, write)| !is_left_over(write));
    ensure!(others.count() == 1, "{writes:?}");

    let count = clusters.count("a derived Service is deleted").await?;
    remove(west, kinds::SERVICE, (SHOP, &service)).await?;
    served(west, ALIEN, &before).await?;
    count.expect(0, 1).await?;
    let after = import(west, ALIEN).await?.context("an import")?;
    ensure!(after.data["spec"]["ips"] == found.data["spec"]["ips"], "{after:?}");

    let count = clusters.count("an imported slice is emptied").await?;
    edit(west, kinds::ENDPOINT_SLICE, (SHOP, &slice), json!({ "endpoints": [] })).await?;
    served(west, ALIEN, &before).await?;
    count.expect(0, 1).await?;

    // Its status is about another generation then.
    let count = clusters.count("the addresses of an import are changed").await?;
    let evil = json!({ "spec": { "ips": ["192.0.2.1"] } });
    edit(west, kinds::MCS_SERVICE_IMPORT, (SHOP, ALIEN), evil).await?;
    served(west, ALIEN, &before).await?;
    count.expect(0, 2).await
}

/// Also for an agent that starts just then. What others export arrives when the hub is back.
async fn own_endpoints_follow_without_the_hub(
    clusters: &Clusters<'_>,
    agents: &mut Agents,
) -> Result<()> {
    let Clusters { testbed, east, west, south } = clusters;
    let plane = testbed.hub().control_plane().context("a control plane")?;
    let before = frozen(west, ALIEN).await?;
    plane.stop_apiserver().await;
    agents.kill(EAST)?;
    agents.launch(EAST)?;
    let addresses = [next_address(), next_address()];
    let own = ManualService::existing(east, &ServiceSpec::http(SHOP, ALIEN));
    own.set_addresses(&addresses).await?;
    let wanted = Endpoints::from([from(east, &addresses)]);
    served(east, ALIEN, &wanted).await?;
    ensure!(frozen(west, ALIEN).await? == before, "{before}");
    plane.start_apiserver().await?;
    clusters.serve(&[west, south], ALIEN, &wanted).await?;
    agents.wait_ready().await
}

async fn nothing_is_written_at_rest(testbed: &Testbed) -> Result<()> {
    let mut meter = WriteMeter::start(testbed)?;
    // Longer than anything that agents put off.
    meter.wait_quiet(Duration::from_secs(11), DEADLINE).await?;
    meter.take()?;
    meter.wait_quiet(REST, REST + Duration::from_secs(5)).await.context("at rest")
}

/// Switched off, an agent leaves everything as it is; with a clean-up it leaves nothing.
async fn switched_off_and_cleaned_up(clusters: &Clusters<'_>, agents: &mut Agents) -> Result<()> {
    let Clusters { east, west, south, .. } = clusters;
    let before = frozen(west, ALIEN).await?;
    agents.set_variable(WEST, MODE, "off")?;
    agents.restart(WEST).await?;
    let addresses = [next_address()];
    let count = clusters.count("an endpoint change, with one agent switched off").await?;
    let own = ManualService::existing(east, &ServiceSpec::http(SHOP, ALIEN));
    own.set_addresses(&addresses).await?;
    let wanted = Endpoints::from([from(east, &addresses)]);
    clusters.serve(&[east, south], ALIEN, &wanted).await?;
    count.expect(1, 2).await?;
    ensure!(frozen(west, ALIEN).await? == before, "{before}");

    agents.set_variable(WEST, MODE, "clean-up")?;
    agents.restart(WEST).await?;
    gone(west, ALIEN).await?;
    wait_until("the cluster is in no clusterset", DEADLINE, async || {
        Ok(property(west, CLUSTERSET_ID).await?.is_none())
    })
    .await?;
    clusters.serve(&[east, south], ALIEN, &wanted).await
}

/// The agent is gone, and what it has imported serves on. Deleting the ServiceImports is a complete clean-up.
async fn uninstalled(clusters: &Clusters<'_>, agents: &mut Agents) -> Result<()> {
    let south = clusters.south;
    let before = frozen(south, ALIEN).await?;
    ensure!(agents.stop(SOUTH).await?, "the agent ends by itself");
    ensure!(frozen(south, ALIEN).await? == before, "{before}");
    delete_imports(south).await?;
    gone(south, ALIEN).await?;
    ensure!(derived(south).await?.is_empty());
    Ok(())
}
