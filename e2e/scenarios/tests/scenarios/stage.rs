//! The fleet that the scenarios play in, and what most of them begin with.

use std::ops::Deref;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use fleet_api::names::member_namespace;
use fleet_api::{ResourceKind, kinds};
use fleet_oracle::Recording;
use fleet_oracle::recorder::Recorder;
use fleet_testbed::Options;
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::audit::WriteMeter;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::crds;
use fleet_testbed::fleet::Fleet;
use fleet_testbed::join;
use fleet_testbed::objects::find;
use fleet_testbed::policies;
use fleet_testbed::wait::{wait_for, wait_until};
use fleet_testbed::workload::NODE;
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::RwLock;

pub(crate) use crate::crossing::Crossing;
use crate::{definitions, external_workloads};

/// Longest time that anything may take which takes milliseconds on an idle machine.
pub(crate) const DEADLINE: Duration = Duration::from_mins(2);

/// How long nothing is written before the record ends: long enough for the oracle to call it quiescent.
const CALM: Duration = Duration::from_secs(4);

/// Position of the member that exports.
pub(crate) const EXPORTER: usize = 0;
/// Position of the member that imports.
pub(crate) const IMPORTER: usize = 1;
/// Position of the member that imports where there are two.
pub(crate) const SECOND_IMPORTER: usize = 2;

/// A fleet whose agents run.
pub(crate) struct Stage {
    // Dropped first: agents without servers only complain.
    agents: RwLock<Agents>,
    /// What the oracle judges in the end; not on clusters of others, which show no audit logs.
    recorder: Option<Recorder>,
    fleet: Fleet,
    /// Whether all members have to stay.
    everybody: RwLock<()>,
    /// Names of the user namespaces that were made.
    namespaces: Mutex<Vec<String>>,
}

impl Deref for Stage {
    type Target = Fleet;

    fn deref(&self) -> &Fleet {
        &self.fleet
    }
}

/// How the agents of all scenarios are started.
pub(crate) fn agent_options() -> AgentOptions {
    // Of one member, so that those without are shown to need nothing of it.
    let machines = vec![("EXTERNAL_WORKLOADS".to_owned(), "true".to_owned())];
    let of_agents = [(Agent::Member(EXPORTER), machines)].into();
    AgentOptions { of_agents, ..AgentOptions::default() }
}

impl Stage {
    /// Starts a fleet; what happens in it is recorded if it is to be judged.
    pub(crate) async fn start(members: usize, judged: bool) -> Result<Self> {
        let fleet = Fleet::from_env_or_testbed(Options::members(members).with_policies()).await?;
        let recorder = match fleet.hub().audit_log_path() {
            Some(_) if judged => Some(Recorder::start(&fleet).await?),
            _ => None,
        };
        external_workloads::prepare(fleet.member(EXPORTER)).await?;
        let agents = Agents::start(&fleet, &agent_options()).await;
        let agents = RwLock::new(fleet.explain_as("start", agents).await?);
        let (everybody, namespaces) = (RwLock::default(), Mutex::default());
        let stage = Self { agents, recorder, fleet, everybody, namespaces };
        // An API server keeps the first objects of a young kind waiting: no scenario is to begin with that.
        stage.mark("begin start");
        let importers: Vec<usize> = (IMPORTER..members).collect();
        stage.crossing("warmup", &importers).await?.withdraw().await?;
        stage.mark("end start");
        Ok(stage)
    }

    pub(crate) fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// The agents: a scenario reads them, one that must be alone writes.
    pub(crate) fn agents(&self) -> &RwLock<Agents> {
        &self.agents
    }

    /// Read by a scenario that lasts through others and needs every member in the fleet, written by one that lets a
    /// member go.
    pub(crate) fn everybody(&self) -> &RwLock<()> {
        &self.everybody
    }

    /// Starts again what a scenario has ended and, because it failed, not started.
    pub(crate) async fn restore(&self, agents: &mut Agents) -> Result<()> {
        for cluster in self.clusters() {
            if cluster.control_plane().is_some()
                && cluster.client().apiserver_version().await.is_err()
            {
                cluster.start_apiserver().await?;
            }
        }
        if self.hub().control_plane().is_some() {
            self.restore_definitions().await?;
        }
        for agent in self.fleet.agents() {
            agents.launch(agent)?;
        }
        agents.wait_ready().await
    }

    async fn restore_definitions(&self) -> Result<()> {
        definitions::restore(self.hub(), &crds::HUB).await?;
        definitions::restore(self.exporter(), &[external_workloads::DEFINITION]).await?;
        let members = self.members().iter();
        try_join_all(members.map(|member| definitions::restore(member, &crds::MEMBER))).await?;
        Ok(())
    }

    /// Notes for the oracle what no cluster shows.
    pub(crate) fn mark(&self, mark: impl Into<String>) {
        if let Some(recorder) = &self.recorder {
            recorder.mark(mark);
        }
    }

    /// Ends the record of the run when nothing moves any more, and fails if the oracle finds anything in it. A record
    /// that is kept is kept under this name.
    pub(crate) async fn judge(self, name: &str) -> Result<Option<Recording>> {
        let Self { agents, recorder, fleet, .. } = self;
        let Some(recorder) = recorder else { return Ok(None) };
        WriteMeter::start(&fleet)?.wait_quiet(CALM, DEADLINE).await?;
        drop(agents);
        recorder.stop().await?;
        let recording = Recording::read(fleet.run_path())?;
        let verdict = fleet_oracle::judge(&recording);
        eprint!("{}", fleet_oracle::stories(&recording, &verdict));
        eprintln!("the oracle, of {name}: {verdict}");
        let guilty = !verdict.violations.is_empty();
        let asked =
            std::env::var_os("FLEET_KEEP_RECORD").map(|folder| Path::new(&folder).join(name));
        if let Some(target) = asked.or_else(|| guilty.then(|| fleet.run().keep_logs())) {
            fleet_oracle::recorder::keep(fleet.run_path(), &target)?;
            eprintln!("its record is kept in {}", target.display());
        }
        ensure!(!guilty, "it found violations");
        let refused: Vec<String> =
            fleet_oracle::rights::refused(&recording).iter().map(ToString::to_string).collect();
        ensure!(refused.is_empty(), "{}", refused.join("\n"));
        Ok(Some(recording))
    }

    pub(crate) fn exporter(&self) -> &Cluster {
        self.member(EXPORTER)
    }

    pub(crate) fn importer(&self) -> &Cluster {
        self.member(IMPORTER)
    }

    /// Makes a user namespace in all clusters, and returns its name. No name is the beginning of another.
    pub(crate) async fn namespace(&self, what: &str) -> Result<String> {
        let name = self.namespace_name(what);
        self.user_namespace(&name).await?;
        Ok(name)
    }

    /// A name that no other scenario and no earlier run has.
    pub(crate) fn namespace_name(&self, what: &str) -> String {
        let mut namespaces = self.namespaces.lock();
        let name = format!("{what}-p{:06}x{:03}", std::process::id(), namespaces.len());
        namespaces.push(name.clone());
        name
    }

    /// A member without a cluster and an agent, for what no agent does. Returns its name, and its namespace on the hub.
    pub(crate) async fn guest(&self, what: &str) -> Result<(String, String)> {
        let member = self.namespace_name(what);
        let namespace = member_namespace(&member);
        self.user_namespace(&namespace).await?;
        join::member_home(&self.hub().client(), &namespace).await?;
        policies::wait_for_any_member_policy(self.hub(), &member).await?;
        Ok((member, namespace))
    }

    /// Leaves clusters that stay as they were: deletes the user namespaces and waits until they are gone, which the
    /// agents have to allow.
    pub(crate) async fn clean(&self) -> Result<()> {
        let names = std::mem::take(&mut *self.namespaces.lock());
        let theirs = self.clusters().filter(|cluster| cluster.control_plane().is_none());
        try_join_all(theirs.map(async |cluster| {
            let all: Api<Namespace> = Api::all(cluster.client());
            let nodes: Api<Node> = Api::all(cluster.client());
            // Not every scenario needs these everywhere.
            let _ = nodes.delete(NODE, &DeleteParams::default()).await;
            for name in &names {
                // Their node has no kubelet that could end them.
                let pods: Api<Pod> = Api::namespaced(cluster.client(), name);
                let at_once = DeleteParams::default().grace_period(0);
                let _ = pods.delete_collection(&at_once, &ListParams::default()).await;
                let _ = all.delete(name, &DeleteParams::default()).await;
            }
            for name in &names {
                let what = format!("the namespace {name} on {} is gone", cluster.name());
                wait_until(&what, DEADLINE, async || Ok(all.get_opt(name).await?.is_none()))
                    .await?;
            }
            anyhow::Ok(())
        }))
        .await?;
        Ok(())
    }

    /// Waits until nothing is left in any cluster of what was made for a user namespace, Services and slices of the
    /// user aside.
    pub(crate) async fn nothing_left(&self, namespace: &str) -> Result<()> {
        let mut left = Vec::new();
        let what = format!("nothing of {namespace} is left");
        let result = wait_until(&what, DEADLINE, async || {
            left = self.leftovers_of(namespace).await?;
            Ok(left.is_empty())
        })
        .await;
        result.with_context(|| {
            let left: Vec<String> = left.iter().map(ToString::to_string).collect();
            format!("left:\n{}", left.join("\n"))
        })
    }
}

/// Waits until a condition has this status, and returns it.
pub(crate) async fn condition(
    cluster: &Cluster,
    kind: ResourceKind,
    key: (&str, &str),
    (type_, status): (&str, &str),
) -> Result<Value> {
    let what = format!("{} {}/{} has {type_}={status}", kind.kind, key.0, key.1);
    wait_for(&what, DEADLINE, async || {
        let object = find(cluster, kind, key).await?.context("it does not exist")?;
        let conditions = object.data["status"]["conditions"].as_array().cloned();
        let conditions = conditions.unwrap_or_default();
        Ok(conditions.into_iter().find(|found| found["type"] == type_ && found["status"] == status))
    })
    .await
}

/// Waits until an export is accepted: the hub knows the Service.
pub(crate) async fn accepted(stage: &Stage, key: (&str, &str)) -> Result<()> {
    condition(stage.exporter(), kinds::SERVICE_EXPORT, key, ("Conflict", "False")).await?;
    Ok(())
}

/// Waits until an object is as wanted, and returns it.
pub(crate) async fn becomes(
    cluster: &Cluster,
    kind: ResourceKind,
    key: (&str, &str),
    what: &str,
    is_so: impl Fn(&DynamicObject) -> bool,
) -> Result<DynamicObject> {
    let what = format!("{} {}/{} on {} {what}", kind.kind, key.0, key.1, cluster.name());
    let mut last = None;
    let result = wait_for(&what, DEADLINE, async || {
        last = find(cluster, kind, key).await?;
        Ok(last.clone().filter(&is_so))
    })
    .await;
    result.with_context(|| match last {
        Some(last) => format!("it is {}", serde_json::to_string(&last).unwrap_or_default()),
        None => "it does not exist".to_owned(),
    })
}

/// The name of an object that must have one.
pub(crate) fn name_of(name: Option<&String>) -> Result<&str> {
    match name {
        Some(name) => Ok(name),
        None => bail!("an object without name"),
    }
}
