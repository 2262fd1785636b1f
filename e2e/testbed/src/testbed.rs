//! Real control planes on one machine, joined into a fleet.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;

use crate::binaries::Binaries;
use crate::cluster::Cluster;
use crate::controlplane::{
    ApiServerSettings, ControlPlane, DEPLOYMENT_CONTROLLERS, NODE_CONTROLLERS,
    NODE_FAILURE_CONTROLLERS, NodeAccess, QUOTA_CONTROLLERS, SLICE_CONTROLLER,
};
use crate::fleet::{Fleet, MEMBER_KUBECONFIGS, existing_clusters};
use crate::state::RunDir;
use crate::versions::Versions;
use crate::wait::wait_until;
use crate::{join, policies, quota};

/// What to start.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name of the run; by default made from the process id. Two runs of one name exclude each other.
    pub name: Option<String>,
    /// Number of members; they are called `member-1`, `member-2`, ...
    pub members: usize,
    /// Whether the API servers write audit logs. Off for latency measurements.
    pub audit: bool,
    /// Further arguments of every kube-apiserver.
    pub apiserver_arguments: Vec<String>,
    /// Controllers of kube-controller-manager beside those that the fleet depends on.
    pub controllers: &'static [&'static str],
    /// Whether the hub has the admission policies, flow schemas and quotas of its chart, and members the policies of theirs.
    pub policies: bool,
    /// How nodes reach the API servers, if the clusters get some.
    pub nodes: Option<NodeAccess>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: None,
            members: 2,
            audit: true,
            apiserver_arguments: Vec::new(),
            controllers: &[SLICE_CONTROLLER],
            policies: false,
            nodes: None,
        }
    }
}

impl Options {
    /// A fleet of this many members, with audit logs.
    pub fn members(members: usize) -> Self {
        Self { members, ..Self::default() }
    }

    /// With the admission policies, flow schemas and quotas of the hub's chart, and the policies of the members'.
    #[must_use]
    pub fn with_policies(self) -> Self {
        Self { policies: true, ..self }
    }

    /// With the controllers that make pods of Deployments.
    #[must_use]
    pub fn with_deployments(self) -> Self {
        Self { controllers: &DEPLOYMENT_CONTROLLERS, ..self }
    }

    /// With the controllers that make pods of Deployments, and those that take Pods from nodes which are not ready: after
    /// `tolerated` seconds, unless a Pod states how long it tolerates that.
    #[must_use]
    pub fn with_node_failures(mut self, tolerated: u32) -> Self {
        let conditions = ["not-ready", "unreachable"];
        let flags = conditions.map(|one| format!("--default-{one}-toleration-seconds={tolerated}"));
        self.apiserver_arguments.extend(flags);
        Self { controllers: &NODE_FAILURE_CONTROLLERS, ..self }
    }

    /// With the controller that counts objects for `ResourceQuota`s.
    #[must_use]
    pub fn with_quotas(self) -> Self {
        Self { controllers: &QUOTA_CONTROLLERS, ..self }
    }

    /// For clusters that nodes are added to.
    #[must_use]
    pub fn with_nodes(self, access: NodeAccess) -> Self {
        Self { controllers: &NODE_CONTROLLERS, nodes: Some(access), ..self }
    }

    /// Without audit logs.
    #[must_use]
    pub fn without_audit(self) -> Self {
        Self { audit: false, ..self }
    }
}

/// One hub and its members, each a real control plane that this process runs, joined into a [`Fleet`].
///
/// Dropping it ends every server and removes every file.
#[derive(Debug)]
pub struct Testbed {
    fleet: Fleet,
}

impl Deref for Testbed {
    type Target = Fleet;

    fn deref(&self) -> &Fleet {
        &self.fleet
    }
}

impl From<Testbed> for Fleet {
    fn from(testbed: Testbed) -> Self {
        testbed.fleet
    }
}

/// Control planes with nothing of a fleet in them, for tests that install one.
///
/// Dropping it ends every server and removes every file.
#[derive(Debug)]
pub struct Bare {
    clusters: Vec<Cluster>,
    // Last, so that the folder goes after the servers that write into it.
    run: Arc<RunDir>,
}

impl Bare {
    /// Starts clusters of these names.
    pub async fn start(names: &[&str], options: &Options) -> Result<Self> {
        let versions = tokio::task::spawn_blocking(Versions::ensure).await??;
        let run = Arc::new(RunDir::create(&options.run_name())?);
        let start = names.iter().enumerate().map(|(position, name)| {
            start_cluster(name, versions.of(position), &run, options, false)
        });
        let clusters = try_join_all(start).await?;
        try_join_all(clusters.iter().map(wait_for_controllers)).await?;
        Ok(Self { clusters, run })
    }

    /// The clusters, in the order of their names.
    pub fn clusters(&self) -> &[Cluster] {
        &self.clusters
    }

    /// The folder of this run, for files and logs of programs that the test starts.
    pub fn run(&self) -> &Arc<RunDir> {
        &self.run
    }

    /// The clusters as a fleet that the caller installs: the first is the hub, the others are its members.
    pub fn into_fleet(self) -> Result<Fleet> {
        let Self { mut clusters, run } = self;
        ensure!(!clusters.is_empty(), "a fleet has a hub");
        let hub = clusters.remove(0);
        Ok(Fleet::installed_by_caller(hub, clusters, run))
    }
}

impl Fleet {
    /// The clusters that the environment names, else a new testbed.
    pub async fn from_env_or_testbed(options: Options) -> Result<Self> {
        let Some(mut existing) = existing_clusters(|name| std::env::var(name).ok())? else {
            return Ok(Testbed::start(options).await?.into());
        };
        if existing.members.len() < options.members {
            let (wanted, there) = (options.members, existing.members.len());
            bail!("{wanted} members are needed; {MEMBER_KUBECONFIGS} names {there}");
        }
        existing.members.truncate(options.members);
        Self::connect(&existing).await
    }
}

impl Testbed {
    /// Finds or builds the programs, cleans what killed runs left, starts all control planes at once and joins them.
    pub async fn start(options: Options) -> Result<Self> {
        let versions = tokio::task::spawn_blocking(Versions::ensure).await??;
        let run = Arc::new(RunDir::create(&options.run_name())?);
        let members = (1..=options.members).map(|number| format!("member-{number}"));
        let names: Vec<String> = std::iter::once("hub".to_owned()).chain(members).collect();
        let start = names.iter().enumerate().map(|(position, name)| {
            start_cluster(name, versions.of(position), &run, &options, true)
        });
        let mut clusters = try_join_all(start).await?;
        let hub = clusters.remove(0);
        let fleet = Fleet::join(hub, clusters, run).await?;
        let clusters = std::iter::once(fleet.hub()).chain(fleet.members());
        try_join_all(clusters.map(wait_for_controllers)).await?;
        if options.policies {
            let member = fleet.members().first().context("policies are about members")?;
            policies::install(fleet.hub(), member.name()).await?;
            try_join_all(fleet.members().iter().map(policies::install_member)).await?;
            let client = fleet.hub().client();
            let members = fleet.members().iter().map(Cluster::name);
            try_join_all(members.map(|member| quota::as_shipped(&client, member))).await?;
        }
        Ok(Self { fleet })
    }
}

impl Options {
    fn run_name(&self) -> String {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        self.name.clone().unwrap_or_else(|| {
            let number = STARTED.fetch_add(1, Ordering::Relaxed);
            format!("run-{}-{number}", std::process::id())
        })
    }
}

async fn start_cluster(
    name: &str,
    binaries: &Binaries,
    run: &Arc<RunDir>,
    options: &Options,
    with_crds: bool,
) -> Result<Cluster> {
    let settings = ApiServerSettings {
        audit: options.audit,
        arguments: options.apiserver_arguments.clone(),
        nodes: options.nodes.clone(),
    };
    let folder = run.folder(name)?;
    let start = async {
        let plane =
            ControlPlane::start(name, folder, binaries.clone(), Arc::clone(run), settings).await?;
        let cluster = Cluster::own(name, plane).await?;
        match name {
            _ if !with_crds => {}
            "hub" => join::install_hub_crds(&cluster).await?,
            _ => join::install_member_crds(&cluster).await?,
        }
        if let Some(plane) = cluster.control_plane() {
            plane.start_controllers(options.controllers).await?;
        }
        anyhow::Ok(cluster)
    };
    start.await.with_context(|| format!("start the control plane of {name}"))
}

/// Pods are refused in a namespace without a default service account, which a controller makes.
async fn wait_for_controllers(cluster: &Cluster) -> Result<()> {
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client(), "default");
    let what = format!("{}: the controllers are at work", cluster.name());
    wait_until(&what, Duration::from_mins(1), async || {
        if let Some(plane) = cluster.control_plane() {
            plane.check_alive().await?;
        }
        Ok(accounts.get_opt("default").await?.is_some())
    })
    .await
}
