//! Own endpoints by kube-controller-manager, under the admission policies of the chart.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_api::annotations::{LOCAL_ENDPOINTS, MULTICLUSTER_DERIVED_SERVICE};
use fleet_api::{kinds, labels};
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::objects::{find, remove};
use fleet_testbed::wait::{wait_for, wait_until};
use fleet_testbed::workload::{ServiceSpec, Workload, ready_addresses};
use fleet_testbed::{Testbed, multicluster, traffic};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::ListParams;
use serde_json::json;

const DEADLINE: Duration = Duration::from_mins(2);
const SHOP: &str = "shop";
const WEB: &str = "web";
const EAST: Agent = Agent::Member(0);
/// What makes slices of Pods.
const BUILT_IN: &str = "endpointslice-controller.k8s.io";

/// The importing cluster, which exports, too.
struct East<'a> {
    cluster: &'a Cluster,
    derived: String,
    own: Workload,
}

pub(crate) async fn story(testbed: &Testbed) -> Result<()> {
    multicluster::prepare(testbed).await?;
    traffic::prepare(testbed, &json!({})).await?;
    testbed.user_namespace(SHOP).await?;
    let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let standard = [set(multicluster::MODE, "on"), set(multicluster::SETTLE, "1s")];
    let environment = standard.into_iter().chain(traffic::options().environment).collect();
    let options = AgentOptions { environment, ..AgentOptions::default() };
    let mut agents = Agents::start(testbed, &options).await?;
    let web = || ServiceSpec::new(SHOP, WEB).port("http", "TCP", 80, 8080);
    let own = Workload::deploy(testbed.member(0), web(), 2).await?;
    let other = Workload::deploy(testbed.member(1), web(), 1).await?;
    for member in testbed.members() {
        multicluster::export(member, SHOP, WEB).await?;
    }
    let cluster = testbed.member(0);
    let derived = derived(cluster).await?;
    let east = East { cluster, derived, own };
    let all: BTreeSet<_> = east.own.addresses().into_iter().chain(other.addresses()).collect();
    east.until("both are imported", |it| ready_addresses(&it.slices) == all).await?;
    east.by_kubernetes().await?;
    east.has_a_record().await?;
    east.reports("Kubernetes").await?;
    east.follows_without_an_agent(&mut agents).await?;
    east.by_agent().await?;
    east.by_kubernetes().await?;
    east.ends_with_its_export().await?;
    multicluster::export(cluster, SHOP, WEB).await?;
    east.by_kubernetes().await?;
    east.is_left_alone(&mut agents).await
}

async fn derived(cluster: &Cluster) -> Result<String> {
    wait_for("it is imported", DEADLINE, async || {
        let import = find(cluster, kinds::MCS_SERVICE_IMPORT, (SHOP, WEB)).await?;
        let annotations = import.and_then(|import| import.metadata.annotations);
        Ok(annotations.and_then(|mut all| all.remove(MULTICLUSTER_DERIVED_SERVICE)))
    })
    .await
}

/// The derived Service and what backs it.
struct Seen {
    service: Option<Service>,
    slices: Vec<EndpointSlice>,
}

impl Seen {
    fn has_selector(&self) -> bool {
        let spec = self.service.as_ref().and_then(|service| service.spec.as_ref());
        spec.is_some_and(|spec| spec.selector.is_some())
    }

    fn is_marked(&self) -> bool {
        let service = self.service.as_ref();
        let annotations = service.and_then(|service| service.metadata.annotations.as_ref());
        annotations.is_some_and(|all| all.contains_key(LOCAL_ENDPOINTS))
    }

    /// What has made the slices with one of these addresses.
    fn managers(&self, addresses: &BTreeSet<String>) -> BTreeSet<String> {
        let has = |slice: &&EndpointSlice| {
            let mut endpoints = slice.endpoints.iter().flat_map(|one| &one.addresses);
            endpoints.any(|address| addresses.contains(address))
        };
        self.slices.iter().filter(has).filter_map(manager).collect()
    }
}

fn manager(slice: &EndpointSlice) -> Option<String> {
    slice.metadata.labels.as_ref()?.get(labels::MANAGED_BY).cloned()
}

impl East<'_> {
    async fn seen(&self) -> Result<Seen> {
        let services: Api<Service> = Api::namespaced(self.cluster.client(), SHOP);
        let slices: Api<EndpointSlice> = Api::namespaced(self.cluster.client(), SHOP);
        let backs = format!("{}={}", labels::SERVICE_NAME, self.derived);
        Ok(Seen {
            service: services.get_opt(&self.derived).await?,
            slices: slices.list(&ListParams::default().labels(&backs)).await?.items,
        })
    }

    async fn until(&self, what: &str, holds: impl Fn(&Seen) -> bool) -> Result<()> {
        let mut last = String::new();
        let found = wait_until(what, DEADLINE, async || {
            let seen = self.seen().await?;
            let ready = ready_addresses(&seen.slices);
            last = format!(
                "{:?}, {:?} ready",
                seen.slices.iter().map(manager).collect::<Vec<_>>(),
                ready
            );
            Ok(holds(&seen))
        })
        .await;
        found.with_context(|| last)
    }

    async fn ask(&self, mode: &str) -> Result<()> {
        let policy = json!({ "preference": "LocalFirst", "localEndpoints": mode });
        traffic::ask(self.cluster, (SHOP, WEB), &policy).await
    }

    async fn by_kubernetes(&self) -> Result<()> {
        self.ask("Kubernetes").await?;
        let own = self.own.addresses();
        let built_in = BTreeSet::from([BUILT_IN.to_owned()]);
        self.until("Kubernetes writes own endpoints", |seen| {
            seen.has_selector()
                && seen.is_marked()
                && seen.managers(&own) == built_in
                && ready_addresses(&seen.slices) == own
        })
        .await
    }

    async fn by_agent(&self) -> Result<()> {
        self.ask("Agent").await?;
        let own = self.own.addresses();
        self.until("the agent writes own endpoints, and nothing is left behind", |seen| {
            !seen.has_selector()
                && !seen.is_marked()
                && ready_addresses(&seen.slices).is_superset(&own)
                && seen.slices.iter().all(|slice| manager(slice).as_deref() != Some(BUILT_IN))
        })
        .await
    }

    /// Programs that read labels of the standard API find own endpoints, and proxies do not.
    async fn has_a_record(&self) -> Result<()> {
        let slices: Api<EndpointSlice> = Api::namespaced(self.cluster.client(), SHOP);
        let source = format!("{}={}", labels::MULTICLUSTER_SOURCE_CLUSTER, self.cluster.name());
        let records = slices.list(&ListParams::default().labels(&source)).await?.items;
        ensure!(ready_addresses(&records) == self.own.addresses(), "{records:?}");
        let mut labelled = records.iter().filter_map(|record| record.metadata.labels.as_ref());
        let is_record = |all: &std::collections::BTreeMap<String, String>| {
            all.contains_key(labels::HEADLESS) && !all.contains_key(labels::SERVICE_NAME)
        };
        ensure!(labelled.all(is_record), "{records:?}");
        Ok(())
    }

    async fn reports(&self, mode: &str) -> Result<()> {
        wait_until(&format!("{mode} is reported"), DEADLINE, async || {
            let status = traffic::in_force(self.cluster, (SHOP, WEB)).await?;
            let local = &status["localEndpoints"];
            Ok(local["mode"] == mode && local["reason"].is_null())
        })
        .await
    }

    async fn follows_without_an_agent(&self, agents: &mut Agents) -> Result<()> {
        agents.kill(EAST)?;
        let pod = self.own.pods().next().context("a Pod")?.to_owned();
        let own = self.own.addresses();
        self.own.set_ready(&pod, false).await?;
        self.until("an own Pod fails", |it| ready_addresses(&it.slices).len() < own.len()).await?;
        self.own.set_ready(&pod, true).await?;
        self.until("it is back", |seen| ready_addresses(&seen.slices) == own).await?;
        agents.launch(EAST)?;
        agents.wait_ready_of(EAST).await
    }

    async fn ends_with_its_export(&self) -> Result<()> {
        multicluster::unexport(self.cluster, SHOP, WEB).await?;
        let own = self.own.addresses();
        self.until("own endpoints are gone", |seen| {
            !seen.has_selector()
                && seen.managers(&own).is_empty()
                && ready_addresses(&seen.slices).len() == 1
        })
        .await
    }

    /// What `fleetctl leave --local` deletes takes along all that Kubernetes has made for it.
    async fn is_left_alone(&self, agents: &mut Agents) -> Result<()> {
        agents.kill(EAST)?;
        remove(self.cluster, kinds::MCS_SERVICE_IMPORT, (SHOP, WEB)).await?;
        self.until("nothing is left", |it| it.service.is_none() && it.slices.is_empty()).await
    }
}
