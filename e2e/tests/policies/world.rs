//! The hub, and those who write to it.

use anyhow::{Context, Result};
use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace};
use fleet_testbed::apply::apply;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::{Options, Testbed, crds, join, policies, rbac};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::config::AuthInfo;
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::member_offload;

/// A member with all the rights that KubeFleet grants.
pub(crate) const EAST: &str = "east";
/// A member with the rights of the chart.
pub(crate) const WEST: &str = "west";
/// A namespace of users on the hub.
pub(crate) const TEAM: &str = "team";

const MEMBER_AGENT: &str = "member-agent";
const USER: &str = "user";
const ORIGINAL: &str = "hub-net-controller-manager-sa";

/// A hub with its policies.
pub(crate) struct World {
    /// The hub's admin.
    pub(crate) admin: Client,
    /// The agent of [`EAST`].
    pub(crate) east: Client,
    /// The agent of [`WEST`].
    pub(crate) west: Client,
    /// The hub agent.
    pub(crate) agent: Client,
    /// The original's hub agent.
    pub(crate) original: Client,
    /// A user who may do everything in [`TEAM`].
    pub(crate) user: Client,
    /// A member agent in its own cluster, with more rights than the chart gives it.
    pub(crate) own_agent: Client,
    /// The admin of that cluster.
    pub(crate) own_admin: Client,
    testbed: Testbed,
}

impl World {
    pub(crate) async fn start() -> Result<Self> {
        let testbed = Testbed::start(Options::members(1)).await?;
        let hub = testbed.hub();
        let admin = hub.client();
        let west = member_namespace(WEST);
        for namespace in [&west, TEAM] {
            join::namespace(&admin, namespace).await?;
        }
        rbac::member_on_hub(WEST).apply(&admin).await?;
        grant(&admin, Some(TEAM), USER).await?;
        grant(&admin, None, ORIGINAL).await?;
        crds::install(&admin, &crds::load(&crds::MULTICLUSTER)?).await?;
        crds::install(&admin, &crds::load(&crds::OFFLOAD)?).await?;
        crds::install(&admin, &crds::load(&crds::TRAFFIC)?).await?;
        crds::install(&admin, &crds::load(&crds::REACHABILITY)?).await?;
        rbac::reach_on_hub(WEST).apply(&admin).await?;
        policies::install_multicluster(hub, WEST).await?;
        let cluster = testbed.members().first().context("a member")?;
        crds::install(&cluster.client(), &crds::load(&crds::STANDARD)?).await?;
        grant_in(&cluster.client(), SYSTEM_NAMESPACE, MEMBER_AGENT, &MEMBER_GROUPS).await?;
        policies::install_multicluster_member(cluster).await?;
        member_offload::install(cluster).await?;
        join::namespace(&cluster.client(), TEAM).await?;
        rbac::hub_multicluster().apply(&admin).await?;
        rbac::hub_offload().apply(&admin).await?;
        rbac::hub_traffic().apply(&admin).await?;
        let east = join_as_kubefleet_does(hub, EAST).await?;
        let account = json!({ "kind": "ServiceAccount", "name": MEMBER_AGENT, "namespace": member_namespace(EAST) });
        let rules = json!([{ "apiGroups": HUB_GROUPS, "resources": ["*"], "verbs": ["*"] }]);
        bind(&admin, Some(SYSTEM_NAMESPACE), &account, &rules).await?;
        let rules = json!([{ "apiGroups": ["traffic.networking.fleet.azure.com"], "resources": ["*"], "verbs": ["*"] }]);
        let user = json!({ "kind": "ServiceAccount", "name": USER, "namespace": TEAM });
        for (name, account) in [("traffic-east", &account), ("traffic-user", &user)] {
            bind_as(&admin, name, None, account, &rules).await?;
        }
        Ok(Self {
            east,
            west: client(hub, &west, MEMBER_AGENT).await?,
            agent: client(hub, SYSTEM_NAMESPACE, "hub-agent").await?,
            original: client(hub, SYSTEM_NAMESPACE, ORIGINAL).await?,
            user: client(hub, TEAM, USER).await?,
            own_agent: client(cluster, SYSTEM_NAMESPACE, MEMBER_AGENT).await?,
            own_admin: cluster.client(),
            admin,
            testbed,
        })
    }

    /// The agent of a further member, with all the rights that KubeFleet grants.
    pub(crate) async fn join(&self, member: &str) -> Result<Client> {
        join_as_kubefleet_does(self.testbed.hub(), member).await
    }

    /// Any user of the hub, by name.
    pub(crate) async fn impersonate(&self, user: &str) -> Result<Client> {
        let mut config = self.testbed.hub().config().clone();
        config.auth_info.impersonate = Some(user.to_owned());
        fleet_testbed::client::client(&config).await
    }
}

async fn join_as_kubefleet_does(hub: &Cluster, member: &str) -> Result<Client> {
    let namespace = member_namespace(member);
    join::namespace(&hub.client(), &namespace).await?;
    grant(&hub.client(), Some(&namespace), MEMBER_AGENT).await?;
    client(hub, &namespace, MEMBER_AGENT).await
}

/// Groups that KubeFleet's roles name.
const HUB_GROUPS: [&str; 4] = [
    "networking.fleet.azure.com",
    "offload.networking.fleet.azure.com",
    "multicluster.networking.fleet.azure.com",
    "cluster.kubernetes-fleet.io",
];
/// Groups of what a member agent writes in its own cluster.
const MEMBER_GROUPS: [&str; 6] = [
    "networking.fleet.azure.com",
    "multicluster.x-k8s.io",
    "",
    "discovery.k8s.io",
    "coordination.k8s.io",
    "events.k8s.io",
];

/// Everything that can be done with the fleet's kinds, in one namespace or in all; with `ConfigMap`s too, which
/// KubeFleet does not grant.
async fn grant(admin: &Client, namespace: Option<&str>, account: &str) -> Result<()> {
    let home = namespace.unwrap_or(SYSTEM_NAMESPACE);
    let account = json!({ "kind": "ServiceAccount", "name": account, "namespace": home });
    let mut made = json!({ "apiVersion": "v1", "metadata": account.clone() });
    made["kind"] = json!("ServiceAccount");
    apply(admin, made).await?;
    let rules = json!([
        { "apiGroups": HUB_GROUPS, "resources": ["*"], "verbs": ["*"] },
        { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"] },
    ]);
    bind(admin, namespace, &account, &rules).await
}

/// Everything that can be done with the kinds of some groups, everywhere, for an account that exists.
async fn grant_in(admin: &Client, home: &str, account: &str, groups: &[&str]) -> Result<()> {
    let account = json!({ "kind": "ServiceAccount", "name": account, "namespace": home });
    let rules = json!([{ "apiGroups": groups, "resources": ["*"], "verbs": ["*"] }]);
    bind(admin, None, &account, &rules).await
}

async fn bind(
    admin: &Client,
    namespace: Option<&str>,
    account: &Value,
    rules: &Value,
) -> Result<()> {
    let name = format!("all-to-{}", account["name"].as_str().unwrap_or_default());
    bind_as(admin, &name, namespace, account, rules).await
}

async fn bind_as(
    admin: &Client,
    name: &str,
    namespace: Option<&str>,
    account: &Value,
    rules: &Value,
) -> Result<()> {
    let (role, binding) = match namespace {
        Some(_) => ("Role", "RoleBinding"),
        None => ("ClusterRole", "ClusterRoleBinding"),
    };
    let object = |kind: &str, more: Value| {
        let mut object = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind,
            "metadata": { "name": name, "namespace": namespace },
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            object[key] = value.clone();
        }
        object
    };
    apply(admin, object(role, json!({ "rules": rules }))).await?;
    let reference = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": name });
    apply(admin, object(binding, json!({ "roleRef": reference, "subjects": [account] }))).await
}

/// A client with a token of a service account.
async fn client(hub: &Cluster, namespace: &str, name: &str) -> Result<Client> {
    let accounts: Api<ServiceAccount> = Api::namespaced(hub.client(), namespace);
    let request = TokenRequest::default();
    let answer = accounts.create_token_request(name, &PostParams::default(), &request).await;
    let answer = answer.with_context(|| format!("get a token of {namespace}/{name}"))?;
    let token = answer.status.context("the token request has no status")?.token;
    let mut config = hub.config().clone();
    config.auth_info = AuthInfo { token: Some(token.into()), ..AuthInfo::default() };
    fleet_testbed::client::client(&config).await
}
