//! Three clusters with agents that direct traffic, Pods that answer in all of them, and clients in the first.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{annotations, kinds};
use fleet_nodes::balanced::{Balanced, PORT};
use fleet_nodes::crossing::{self, Api};
use fleet_nodes::load::{Calling, Clients, Moment, Program, Tally};
use fleet_nodes::pods::cluster_ips;
use fleet_nodes::whole::WholeFleet;
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::objects::find;
use fleet_testbed::wait::{wait_for, wait_until};
use fleet_testbed::{exchange, multicluster, traffic};
use serde_json::{Value, json};

use super::prepared::{Prepared, prefix};
use crate::steps::Steps;

pub(super) const NAMESPACE: &str = "traffic";
/// A Service that is not exported.
const PLAIN: &str = "plain";
pub(super) const DEADLINE: Duration = Duration::from_mins(3);
/// Rates that are tried, in connections per second.
const RATES: [u32; 5] = [1000, 500, 250, 100, 50];
/// How long each is tried.
const TRIAL_SECONDS: u64 = 2;
/// Of as many connections, one goes to each of two members, but for one run in a million.
pub(super) const ATTEMPTS: usize = 20;
/// Seconds after which a member is silent, and how it returns.
pub(super) const SILENT_AFTER: u64 = 30;

pub(super) struct World<'a> {
    pub(super) fleet: &'a WholeFleet,
    pub(super) clients: Clients<'a>,
    program: Program,
    ranges: BTreeMap<String, String>,
    plain: IpAddr,
    pub(super) rate: u32,
    /// Whether the first member's nodes follow conditions of endpoints alone.
    by_conditions: bool,
}

/// The variable of agents whose nodes do.
pub(super) fn by_conditions() -> (String, String) {
    ("DATA_PLANE".to_owned(), "conditions".to_owned())
}

/// A Service of the fleet as the first member imports it.
#[derive(Clone, Debug)]
pub(super) struct Import<'a> {
    pub(super) name: String,
    pub(super) servers: Vec<Balanced<'a>>,
    pub(super) address: IpAddr,
    derived: (String, String),
}

impl<'a> World<'a> {
    pub(super) async fn begin(fleet: &'a WholeFleet, steps: &mut Steps) -> Result<(Self, Agents)> {
        Self::begin_with(fleet, BTreeMap::new(), steps).await
    }

    /// The same with further variables of single agents.
    pub(super) async fn begin_with(
        fleet: &'a WholeFleet,
        of_agents: BTreeMap<Agent, Vec<(String, String)>>,
        steps: &mut Steps,
    ) -> Result<(Self, Agents)> {
        steps.take("DNS answers for the clusterset", fleet.serve_clusterset()).await?;
        let spec = json!({
            "silentAfterSeconds": SILENT_AFTER, "returnAfterSeconds": 5, "returnOverSeconds": 15,
        });
        traffic::prepare(fleet.fleet(), &spec).await?;
        let (crossing, directing) = (crossing::agents(Some("1s")), traffic::options());
        let environment = crossing.environment.into_iter().chain(directing.environment).collect();
        let options = AgentOptions { environment, of_agents, ..directing };
        Self::with_agents(fleet, &options, steps).await
    }

    /// With these agents, for which the clusters are prepared.
    pub(super) async fn with_agents(
        fleet: &'a WholeFleet,
        options: &AgentOptions,
        steps: &mut Steps,
    ) -> Result<(Self, Agents)> {
        fleet.fleet().user_namespace(NAMESPACE).await?;
        let of_first = options.of_agents.get(&Agent::Member(0));
        let by_conditions = of_first.is_some_and(|all| all.contains(&by_conditions()));
        let agents =
            steps.take("the agents are ready", Agents::start(fleet.fleet(), options)).await?;
        let program = Program::place(fleet.folder("load")?)?;
        let clients = Clients::on(fleet.fleet().member(0), fleet.node(0), &program).await?;
        let here = fleet.fleet().member(0);
        let deployed = Balanced::deploy(here, &program, (NAMESPACE, PLAIN), 2);
        steps.take("a plain Service answers", deployed).await?;
        let ranges = fleet.fleet().members().iter().map(|member| {
            let pods = &fleet.node_of(member.name())?.addresses().pods;
            Ok((member.name().to_owned(), prefix(pods)?))
        });
        let ranges = ranges.collect::<Result<_>>()?;
        let plain = ipv4(cluster_ips(here, NAMESPACE, PLAIN).await?)?;
        let mut world = Self { fleet, clients, program, ranges, plain, rate: 0, by_conditions };
        world.rate = steps.take("the rate is found", world.highest_rate()).await?;
        eprintln!("{} new connections in a second, to each of two Services", world.rate);
        Ok((world, agents))
    }

    /// The highest rate at which no call of two clients of the plain Service fails.
    async fn highest_rate(&self) -> Result<u32> {
        self.clients.wait_synced().await?;
        for rate in RATES {
            let count = TRIAL_SECONDS * u64::from(rate);
            let [one, other] = ["first", "second"]
                .map(|name| self.clients.call(name, self.plain, PORT, rate, count));
            let (one, other) = (one?, other?);
            let tallies = [one.ended().await?, other.ended().await?];
            if tallies.iter().all(|tally| tally.failed() == 0) {
                return Ok(rate);
            }
            eprintln!("at {rate}: {}; {}", tallies[0], tallies[1]);
        }
        bail!("calls of a plain Service fail at every rate")
    }

    pub(super) fn member(&self, position: usize) -> &'a Cluster {
        self.fleet.fleet().member(position)
    }

    pub(super) fn name(&self, position: usize) -> &'a str {
        self.member(position).name()
    }

    pub(super) fn hub(&self) -> &'a Cluster {
        self.fleet.fleet().hub()
    }

    /// Deploys a Service in the members, with that many Pods in each, exports it from those with some, and imports it in the
    /// first one.
    pub(super) async fn import(
        &self,
        api: Api,
        name: &str,
        replicas: [usize; 3],
    ) -> Result<Import<'a>> {
        self.import_with(api, name, replicas, &json!({})).await
    }

    /// The same with fields of the Service's specification.
    pub(super) async fn import_with(
        &self,
        api: Api,
        name: &str,
        replicas: [usize; 3],
        fields: &Value,
    ) -> Result<Import<'a>> {
        let mut servers = Vec::new();
        for (position, replicas) in replicas.into_iter().enumerate().filter(|(_, count)| *count > 0)
        {
            let (here, name) = (self.member(position), (NAMESPACE, name));
            let deployed = Balanced::deploy_with(here, &self.program, name, replicas, fields);
            servers.push(deployed.await?);
        }
        for one in &servers {
            match api {
                Api::Standard => multicluster::export(one.cluster(), NAMESPACE, name).await?,
                Api::Fleet => exchange::export(one.cluster(), NAMESPACE, name).await?,
            }
        }
        let here = self.member(0);
        let (derived, address) = match api {
            Api::Standard => standard_import(here, name).await?,
            Api::Fleet => {
                exchange::import(here, NAMESPACE, name, name).await?;
                fleet_import(here, name).await?
            }
        };
        let import = Import { name: name.to_owned(), servers, address, derived };
        let wanted: usize = replicas.iter().sum();
        self.until(&import, "everything is imported", |prepared| {
            self.ranges.keys().map(|cluster| prepared.ready(cluster)).sum::<usize>() == wanted
        })
        .await?;
        self.clients.wait_synced().await?;
        Ok(import)
    }

    pub(super) async fn prepared(&self, import: &Import<'_>) -> Result<Prepared> {
        let (namespace, name) = &import.derived;
        let prepared = Prepared::read(self.member(0), (namespace, name), &self.ranges, "").await?;
        let is_ordered = self.by_conditions && prepared.names_zones();
        ensure!(!is_ordered, "{name} has zones, which its nodes do not follow");
        Ok(prepared)
    }

    /// Waits until the slices are like this.
    pub(super) async fn until(
        &self,
        import: &Import<'_>,
        what: &str,
        holds: impl Fn(&Prepared) -> bool,
    ) -> Result<Prepared> {
        let mut last = None;
        let found = wait_for(&format!("{}: {what}", import.name), DEADLINE, async || {
            let prepared = self.prepared(import).await?;
            last = Some(prepared.in_use());
            Ok(holds(&prepared).then_some(prepared))
        })
        .await;
        found.with_context(|| format!("in use are {last:?}"))
    }

    /// Asks for a policy in the first member, and waits until its slices are like this and programmed.
    pub(super) async fn ask(
        &self,
        import: &Import<'_>,
        spec: &Value,
        holds: impl Fn(&Prepared) -> bool,
    ) -> Result<Prepared> {
        let before = self.prepared(import).await?.in_use();
        traffic::ask(self.member(0), (NAMESPACE, &import.name), spec).await?;
        let prepared = self.until(import, &spec.to_string(), holds).await?;
        if prepared.in_use() != before {
            self.clients.wait_synced().await?;
        }
        Ok(prepared)
    }

    pub(super) fn call(&self, import: &Import<'_>) -> Result<Calling> {
        self.call_at(import, self.rate)
    }

    pub(super) fn call_at(&self, import: &Import<'_>, rate: u32) -> Result<Calling> {
        self.clients.call(&import.name, import.address, PORT, rate, 0)
    }

    pub(super) fn stream(&self, import: &Import<'_>, number: usize) -> Result<Calling> {
        self.clients.stream(&format!("{}-stream-{number}", import.name), import.address, PORT)
    }

    pub(super) fn flow(&self, import: &Import<'_>, number: usize) -> Result<Calling> {
        self.clients.flow(&format!("{}-flow-{number}", import.name), import.address, PORT)
    }

    /// Several clients, each at a rate.
    pub(super) fn call_apart(&self, import: &Import<'_>, rate: u32) -> Result<Vec<Calling>> {
        self.clients.call_apart(&import.name, import.address, PORT, rate)
    }

    /// Opens connections, or flows, until one leads to a member.
    pub(super) async fn leads_to(
        &self,
        member: &str,
        open: impl Fn(usize) -> Result<Calling>,
    ) -> Result<Calling> {
        for number in 0..ATTEMPTS {
            let opened = open(number)?;
            if opened.next(1, Moment::of(0)).await?.of(member) > 0 {
                return Ok(opened);
            }
            opened.end().await?;
        }
        bail!("none of {ATTEMPTS} connections leads to {member}")
    }

    /// Lets an administrator ask for the drain of a Service in a member.
    pub(super) async fn drain(
        &self,
        import: &Import<'_>,
        member: &str,
        mut drain: Value,
    ) -> Result<()> {
        drain["service"] = json!(format!("{NAMESPACE}/{}", import.name));
        traffic::drain(self.hub(), member, &json!([drain])).await
    }

    /// Calls of the plain Service, with which those of another one are compared.
    pub(super) fn call_plain(&self, beside: &Import<'_>, rate: u32) -> Result<Calling> {
        self.clients.call(&format!("{PLAIN}-{}", beside.name), self.plain, PORT, rate, 0)
    }

    /// So many calls, which begin now.
    pub(super) async fn count(&self, import: &Import<'_>, count: u64) -> Result<Tally> {
        let calling = self.clients.call(
            &format!("{}-count", import.name),
            import.address,
            PORT,
            self.rate,
            count,
        )?;
        wait_for(&format!("{count} calls of {}", import.name), DEADLINE, async || {
            let tally = calling.so_far()?;
            Ok((tally.all() >= count).then_some(()))
        })
        .await?;
        calling.ended().await
    }

    /// Waits until what the hub agent has decided about a member is like this.
    pub(super) async fn decided(
        &self,
        member: &str,
        what: &str,
        holds: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        let mut last = Value::Null;
        let found = wait_for(&format!("{member} is {what}"), DEADLINE, async || {
            last = traffic::decided(self.hub(), member).await?;
            Ok(holds(&last).then(|| last.clone()))
        })
        .await;
        found.with_context(|| format!("its status is {last}"))
    }

    /// Makes all Pods of a cluster that serve an import ready, or as many of them unready as is left out.
    pub(super) async fn set_ready(&self, servers: &Balanced<'_>, ready: usize) -> Result<()> {
        let all = servers.addresses().await?;
        let (up, down) = all.split_at(ready.min(all.len()));
        self.clients.set_ready(true, up).await?;
        self.clients.set_ready(false, down).await
    }
}

impl<'a> Import<'a> {
    /// The servers in a cluster.
    pub(super) fn servers_in(&self, cluster: &str) -> Result<&Balanced<'a>> {
        let found = self.servers.iter().find(|servers| servers.cluster().name() == cluster);
        found.with_context(|| format!("{cluster} does not serve {}", self.name))
    }
}

/// An error if more calls have failed than of the plain Service.
pub(super) fn no_more_fail(tally: &Tally, plain: &Tally) -> Result<()> {
    ensure!(tally.failed() <= plain.failed(), "{tally}; of the plain Service: {plain}");
    Ok(())
}

fn ipv4(addresses: Vec<IpAddr>) -> Result<IpAddr> {
    addresses.into_iter().find(IpAddr::is_ipv4).context("no IPv4 address")
}

/// The derived Service and the address of an import of the standard API.
async fn standard_import(here: &Cluster, name: &str) -> Result<((String, String), IpAddr)> {
    wait_for(&format!("{name} is imported"), DEADLINE, async || {
        let found = find(here, kinds::MCS_SERVICE_IMPORT, (NAMESPACE, name)).await?;
        let Some(import) = found else { return Ok(None) };
        let derived = import.metadata.annotations.as_ref();
        let derived = derived.and_then(|all| all.get(annotations::MULTICLUSTER_DERIVED_SERVICE));
        let ips = import.data["spec"]["ips"].as_array().into_iter().flatten();
        let address =
            ips.filter_map(|ip| ip.as_str()?.parse::<IpAddr>().ok()).find(IpAddr::is_ipv4);
        Ok(derived
            .zip(address)
            .map(|(derived, address)| ((NAMESPACE.to_owned(), derived.clone()), address)))
    })
    .await
}

/// The same of an import of the fleet's API.
async fn fleet_import(here: &Cluster, name: &str) -> Result<((String, String), IpAddr)> {
    wait_for(&format!("{name} is imported"), DEADLINE, async || {
        let Some(derived) = exchange::derived_service(here, NAMESPACE, name).await? else {
            return Ok(None);
        };
        let address = ipv4(cluster_ips(here, SYSTEM_NAMESPACE, &derived).await?)?;
        Ok(Some(((SYSTEM_NAMESPACE.to_owned(), derived), address)))
    })
    .await
}

/// Waits for a status of a policy that is like this.
pub(super) async fn status_is(
    here: &Cluster,
    name: &str,
    what: &str,
    holds: impl Fn(&Value) -> bool,
) -> Result<()> {
    wait_until(&format!("the status of {name}: {what}"), DEADLINE, async || {
        let status = traffic::in_force(here, (NAMESPACE, name)).await?;
        ensure!(holds(&status), "{status}");
        Ok(true)
    })
    .await
}
