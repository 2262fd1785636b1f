//! A fleet in memory: what is there, and who runs.

use std::time::Duration;

use fleet_accumulator::{ClusterId, Snapshot, Tracked as _};
use fleet_api::{ObjectName, kinds};
use fleet_model::hub_schema::{GROUP_VERSION, HubSchema};
use fleet_model_server::{ApiServer, ModelServer, Sent};
use hub_agent::snapshot::HubSnapshot;
use member_agent::snapshot::MemberSnapshot;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::agents::agent::{Agent, Valves, valves};

/// Longer than anything that agents put off, retries of failures included. Time stands still while they work.
const REST: Duration = Duration::from_mins(3);
/// The agents of a fleet whose member "a" exports and whose member "b" imports.
pub(crate) const AGENTS: [&str; 3] = ["hub", "a", "b"];

/// Hub and two members.
pub(crate) struct World {
    pub(crate) hub: ApiServer,
    pub(crate) members: [ApiServer; 2],
}

impl World {
    pub(crate) fn new() -> Self {
        let server = |cluster, namespaces: &[&str]| {
            let mut model = ModelServer::new(cluster);
            for name in namespaces {
                model.create(kinds::NAMESPACE, &ObjectName::cluster(*name), json!({})).unwrap();
            }
            ApiServer::new(model)
        };
        let member = || server(ClusterId::Local, &["team", "fleet-system"]);
        let hub = server(ClusterId::Hub, &["team", "fleet-member-a", "fleet-member-b"]);
        let schema = ObjectName::cluster(GROUP_VERSION);
        hub.write(|hub| hub.create(HubSchema::KIND, &schema, HubSchema::OURS.object())).unwrap();
        Self { hub, members: [member(), member()] }
    }

    /// So many Services are exchanged and no agent runs.
    pub(crate) async fn exchanged(services: usize) -> Self {
        let world = Self::new();
        let agents = AGENTS.map(|agent| world.start(agent));
        world.users_exchange(services);
        rest().await;
        assert_eq!(world.bound(), services, "{:#?}", world.sent());
        for agent in agents {
            agent.stop().await;
        }
        world
    }

    /// The same objects once more, without writes so far.
    pub(crate) fn fork(&self) -> Self {
        Self { hub: self.hub.fork(), members: [self.members[0].fork(), self.members[1].fork()] }
    }

    /// Starts an agent whose watches behave.
    pub(crate) fn start(&self, agent: &str) -> Agent {
        self.start_with(agent, fields(agent))
    }

    pub(crate) fn start_with(&self, agent: &str, valves: Valves) -> Agent {
        match agent {
            "hub" => Agent::hub(&self.hub, valves),
            "a" => Agent::member("a", &self.members[0], &self.hub, valves),
            _ => Agent::member("b", &self.members[1], &self.hub, valves),
        }
    }

    /// Users export from "a" and import into "b".
    pub(crate) fn users_exchange(&self, services: usize) {
        for number in 0..services {
            let name = service(number);
            let port = json!({ "name": "web", "protocol": "TCP", "port": 80 });
            self.members[0].write(|own| {
                let object = json!({ "spec": {
                    "type": "ClusterIP", "clusterIP": "10.0.0.1", "ports": [port],
                }});
                own.create(kinds::SERVICE, &name, object).unwrap();
                let object = json!({
                    "metadata": { "labels": { "kubernetes.io/service-name": name.name } },
                    "addressType": "IPv4",
                    "endpoints": [{ "addresses": [format!("10.1.0.{number}")] }],
                    "ports": [port],
                });
                own.create(kinds::ENDPOINT_SLICE, &name, object).unwrap();
                own.create(kinds::SERVICE_EXPORT, &name, json!({})).unwrap();
            });
            self.members[1].write(|own| {
                let wish = json!({ "spec": { "serviceImport": { "name": name.name } } });
                own.create(kinds::MULTI_CLUSTER_SERVICE, &name, wish).unwrap();
            });
        }
    }

    /// How many imported slices "b" has that carry an endpoint.
    pub(crate) fn bound(&self) -> usize {
        self.members[1].read(|own| {
            let names = own.names(kinds::ENDPOINT_SLICE).into_iter();
            let slices = names.map(|name| own.get(kinds::ENDPOINT_SLICE, &name).unwrap());
            let full = |slice: &&Value| !slice["endpoints"].as_array().unwrap().is_empty();
            slices.filter(full).count()
        })
    }

    /// Everything that agents wrote.
    pub(crate) fn sent(&self) -> Vec<Sent> {
        let members = self.members.iter().flat_map(ApiServer::sent);
        self.hub.sent().into_iter().chain(members).collect()
    }

    /// What they took from anybody.
    pub(crate) fn taken(&self) -> Vec<Sent> {
        self.sent().into_iter().filter(|sent| sent.takes).collect()
    }
}

/// The Service of this number; the same in both members.
pub(crate) fn service(number: usize) -> ObjectName {
    ObjectName::new("team", format!("shop-{number:02}"))
}

/// The watches of an agent.
pub(crate) fn fields(agent: &str) -> Valves {
    if agent == "hub" { valves::<HubSnapshot>() } else { valves::<MemberSnapshot>() }
}

/// Names of the watches of an agent.
pub(crate) fn watches(agent: &str) -> Vec<&'static str> {
    let sources = if agent == "hub" { HubSnapshot::sources() } else { MemberSnapshot::sources() };
    sources.iter().map(|source| source.field).collect()
}

/// Lets everybody do what they have to do.
pub(crate) async fn rest() {
    sleep(REST).await;
}
