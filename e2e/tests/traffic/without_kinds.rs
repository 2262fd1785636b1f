//! Kinds and rights that are taken away, a member that knows none of them, and what members may not write.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_api::names::{MEMBER_LEASE, member_namespace};
use fleet_api::traffic::{CLUSTER_PROPERTY, FLEET_TRAFFIC, PROPERTIES, SilenceState};
use fleet_api::{ResourceKind, kinds};
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::fleet::Fleet;
use fleet_testbed::objects::api;
use fleet_testbed::observer::{Observer, What};
use fleet_testbed::scrape::Scrape;
use fleet_testbed::wait::wait_until;
use fleet_testbed::{crds, exchange, multicluster, rbac, traffic};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::hub_side::HubSide;
use crate::shared::{self, Exported, FLEET, addresses, imported, is_imported, is_of};
use crate::{EAST, NORTH, SHOP, WEST};

const DEADLINE: Duration = Duration::from_mins(3);

/// A fleet of which one exporter knows nothing of traffic, as one with agents of another release.
struct Story<'a> {
    fleet: &'a Fleet,
    agents: Agents,
    east: Exported,
    north: Exported,
    observer: Observer,
}

pub(crate) async fn story(fleet: &Fleet) -> Result<()> {
    let mut story = Story::begin(fleet).await?;
    story.without_the_object_of_the_fleet().await.context("without the object of the fleet")?;
    story.without_definitions().await.context("without definitions")?;
    story.without_rights().await.context("without rights")?;
    story.a_member_without_a_lease_is_not_judged().await.context("not judged")?;
    story.members_write_what_is_theirs().await.context("rights of members")?;
    story.agents.launch(Agent::Member(EAST))?;
    story.agents.launch(Agent::Member(NORTH))?;
    story.agents.wait_ready().await
}

impl<'a> Story<'a> {
    async fn begin(fleet: &'a Fleet) -> Result<Self> {
        let side = HubSide { fleet, restarts: false, standard: true };
        side.prepare().await?;
        side.prepare_members().await?;
        traffic::prepare(fleet, &spec()).await?;
        let off = ["TRAFFIC", "MEMBER_LEASE"].map(|name| (name.to_owned(), "false".to_owned()));
        let options = AgentOptions {
            environment: shared::environment(),
            of_agents: [(Agent::Member(NORTH), off.into())].into(),
            ..AgentOptions::default()
        };
        let agents = Agents::start(fleet, &options).await?;
        let east = Exported::by(fleet.member(EAST)).await?;
        let north = Exported::by(fleet.member(NORTH)).await?;
        let west = fleet.member(WEST);
        exchange::import(west, SHOP, FLEET, FLEET).await?;
        shared::wait_imported(west, &[&east, &north]).await?;
        side.wait_published(EAST, DEADLINE).await?;
        let observer = Observer::start_for([(west, kinds::ENDPOINT_SLICE)]).await?;
        Ok(Self { fleet, agents, east, north, observer })
    }

    fn hub(&self) -> &'a Cluster {
        self.fleet.hub()
    }

    fn west(&self) -> &'a Cluster {
        self.fleet.member(WEST)
    }

    /// What changes arrives, so that importers have seen what was before; and nothing was removed until then.
    async fn goes_on(&mut self) -> Result<()> {
        self.east.change().await?;
        shared::wait_imported(self.west(), &[&self.east, &self.north]).await?;
        self.nothing_was_removed()
    }

    fn nothing_was_removed(&mut self) -> Result<()> {
        let removed = self.observer.take().into_iter().find(|seen| {
            is_imported(&seen.object)
                && (seen.what == What::Gone || addresses(&seen.object).is_empty())
        });
        ensure!(removed.is_none(), "an endpoint is gone: {removed:?}");
        Ok(())
    }

    async fn without_the_object_of_the_fleet(&mut self) -> Result<()> {
        let fleets = api(self.hub().client(), kinds::FLEET_TRAFFIC, None);
        fleets.delete(FLEET_TRAFFIC, &DeleteParams::default()).await?;
        self.goes_on().await?;
        traffic::prepare(self.fleet, &spec()).await?;
        self.goes_on().await
    }

    /// The hub is one of the original meanwhile, as far as importers see: what their own users ask for is in force.
    async fn without_definitions(&mut self) -> Result<()> {
        let client = self.hub().client();
        let definitions: Api<CustomResourceDefinition> = Api::all(client);
        let names: Vec<_> = crds::load(&crds::TRAFFIC)?
            .into_iter()
            .filter_map(|definition| definition.metadata.name)
            .collect();
        for name in &names {
            definitions.delete(name, &DeleteParams::default()).await?;
        }
        for name in &names {
            wait_until(&format!("{name} is gone"), DEADLINE, async || {
                Ok(definitions.get_opt(name).await?.is_none())
            })
            .await?;
        }
        self.goes_on().await?;
        self.policies_of_importers_work().await?;
        traffic::prepare(self.fleet, &spec()).await?;
        let side = HubSide { fleet: self.fleet, restarts: false, standard: true };
        side.wait_published(EAST, DEADLINE).await?;
        self.goes_on().await
    }

    async fn policies_of_importers_work(&mut self) -> Result<()> {
        let north = self.fleet.member(NORTH).name();
        let first = json!({ "matchProperties": { (CLUSTER_PROPERTY): north } });
        let policy = json!({
            "preference": "Selectors", "clusterSelectors": [{ "propertySelector": first }],
        });
        traffic::ask(self.west(), (SHOP, FLEET), &policy).await?;
        let east = self.east.addresses[0].clone();
        wait_until("the other exporter is second", DEADLINE, async || {
            let slices = imported(self.west()).await?;
            let mut of_east = slices.iter().filter(|slice| addresses(slice).contains(&east));
            Ok(of_east.any(|slice| {
                slice.data["endpoints"][0]["hints"]["forZones"][0]["name"] == "fleet.remote"
            }))
        })
        .await?;
        self.nothing_was_removed()
    }

    /// The importer reads neither which members have published nor what is decided about them.
    async fn without_rights(&mut self) -> Result<()> {
        let (client, west) = (self.hub().client(), self.west().name());
        let roles: Api<ClusterRole> = Api::all(client.clone());
        let mut role = roles.get("fleet-multicluster-reader").await?;
        let reads_reports =
            |rule: &PolicyRule| rule.resources.iter().flatten().any(|it| it == "clusterreports");
        role.rules.iter_mut().for_each(|rules| rules.retain(|rule| !reads_reports(rule)));
        roles.replace("fleet-multicluster-reader", &PostParams::default(), &role).await?;
        let account = rbac::traffic_on_hub(west);
        let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
        bindings.delete(account.binding(), &DeleteParams::default()).await?;
        self.agents.restart(Agent::Member(WEST)).await?;
        wait_until("the importer is refused", DEADLINE, async || {
            let scrape = Scrape::of(&self.agents, Agent::Member(WEST)).await?;
            let refused = |kind: &str| {
                let labels = [("class", "forbidden"), ("kind", kind)];
                scrape.sum("fleet_accumulator_source_errors_total", &labels) > 0.5
            };
            Ok(["ClusterReport", "MemberTraffic"].into_iter().all(refused))
        })
        .await?;
        self.east.change().await?;
        let east = self.east.addresses[0].clone();
        wait_until("what changes arrives by the API of the fleet", DEADLINE, async || {
            let slices = imported(self.west()).await?;
            let of_fleet = slices.iter().filter(|slice| is_of(slice, FLEET));
            Ok(of_fleet.flat_map(addresses).any(|address| address == east))
        })
        .await?;
        self.nothing_was_removed()?;
        multicluster::prepare_hub(self.hub()).await?;
        rbac::multicluster_on_hub(west).apply(&client).await?;
        account.apply(&client).await?;
        self.agents.restart(Agent::Member(WEST)).await?;
        self.goes_on().await
    }

    /// Both exporters end. One is silent by verdict; of the other the hub agent knows nothing, however long that takes.
    async fn a_member_without_a_lease_is_not_judged(&mut self) -> Result<()> {
        self.agents.kill(Agent::Member(NORTH))?;
        self.agents.kill(Agent::Member(EAST))?;
        let members = api(self.hub().client(), kinds::MEMBER_TRAFFIC, None);
        let east = self.fleet.member(EAST).name();
        wait_until("east is silent", DEADLINE, async || {
            let silence = members.get(east).await?.data["status"]["silence"].clone();
            Ok(silence["state"] == SilenceState::Silent.as_str())
        })
        .await?;
        let north = members.get_opt(self.fleet.member(NORTH).name()).await?;
        ensure!(north.is_none(), "it is judged: {north:?}");
        let (east, north) = (self.east.addresses.clone(), self.north.addresses.clone());
        wait_until("east is last resort", DEADLINE, async || {
            Ok(ready(self.west(), &east).await? == [false, false])
        })
        .await?;
        ensure!(ready(self.west(), &north).await? == [true, true], "north is as before");
        self.nothing_was_removed()
    }

    /// With the rights of the chart, as the identity of a member.
    async fn members_write_what_is_theirs(&mut self) -> Result<()> {
        let (east, north) = (self.fleet.member(EAST).name(), self.fleet.member(NORTH).name());
        let client = impersonate(self.hub(), &rbac::member_on_hub(north).user()).await?;
        for kind in [kinds::FLEET_TRAFFIC, kinds::MEMBER_TRAFFIC, kinds::SERVICE_TRAFFIC] {
            let namespace = kind.namespaced.then_some(SHOP);
            let object = object(kind, namespace)?;
            let all = api(client.clone(), kind, namespace);
            let made = all.create(&PostParams::default(), &object).await;
            ensure!(is_forbidden(&made), "{north} makes a {}: {made:?}", kind.kind);
        }
        let of_east: Api<Lease> = Api::namespaced(client.clone(), &member_namespace(east));
        let renewed = Patch::Merge(json!({ "spec": { "holderIdentity": north } }));
        let renewed = of_east.patch(MEMBER_LEASE, &PatchParams::default(), &renewed).await;
        ensure!(is_forbidden(&renewed), "{north} renews the Lease of {east}: {renewed:?}");
        let listed = of_east.list(&ListParams::default()).await;
        ensure!(is_forbidden(&listed), "{north} lists Leases of {east}");

        let claimed = json!({
            "topology.kubernetes.io/region": "north", (CLUSTER_PROPERTY): east, "tier": "gold",
        });
        let own: Api<Lease> = Api::namespaced(client, &member_namespace(north));
        let lease = serde_json::from_value(json!({
            "metadata": { "name": MEMBER_LEASE, "annotations": { (PROPERTIES): claimed.to_string() } },
            "spec": { "holderIdentity": north, "leaseDurationSeconds": 40,
                      "renewTime": "2026-01-01T00:00:00.000000Z" },
        }))?;
        own.create(&PostParams::default(), &lease).await.context("its own Lease")?;
        let expected =
            json!({ "topology.kubernetes.io/region": "north", (CLUSTER_PROPERTY): north });
        let members = api(self.hub().client(), kinds::MEMBER_TRAFFIC, None);
        wait_until("its own properties are taken, and no others", DEADLINE, async || {
            let found = members.get_opt(north).await?;
            let properties = found.map(|found| found.data["status"]["properties"].clone());
            Ok(properties == Some(expected.clone()))
        })
        .await
    }
}

fn spec() -> Value {
    json!({ "silentAfterSeconds": 30, "returnAfterSeconds": 10, "returnOverSeconds": 3 })
}

fn object(kind: ResourceKind, namespace: Option<&str>) -> Result<DynamicObject> {
    Ok(serde_json::from_value(json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata": { "name": FLEET_TRAFFIC, "namespace": namespace }, "spec": {},
    }))?)
}

async fn impersonate(hub: &Cluster, user: &str) -> Result<Client> {
    let mut config = hub.config().clone();
    config.auth_info.impersonate = Some(user.to_owned());
    fleet_testbed::client::client(&config).await
}

fn is_forbidden<T>(answer: &kube::Result<T>) -> bool {
    matches!(answer, Err(kube::Error::Api(status)) if status.code == 403)
}

/// Whether these endpoints are ready in a member.
async fn ready(west: &Cluster, wanted: &[String; 2]) -> Result<Vec<bool>> {
    let slices = imported(west).await?;
    let is_ready = |address: &String| {
        let slice = slices.iter().find(|slice| addresses(slice).contains(address));
        slice.is_some_and(|slice| slice.data["endpoints"][0]["conditions"]["ready"] != false)
    };
    Ok(wanted.iter().map(is_ready).collect())
}
