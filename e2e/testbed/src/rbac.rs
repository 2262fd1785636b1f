//! Who may do what: the agents' service accounts and rights, from the files that users apply (`charts/*/*rbac.yaml`).
//!
//! This file only fills in a member's name, so that the scenario tests show that those rights suffice, and that none is
//! too much.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace};
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::Value;

use super::apply::apply;

const HUB_AGENT: &str = include_str!("../../../charts/hub-agent/rbac.yaml");
const MEMBER_ON_HUB: &str = include_str!("../../../charts/hub-agent/member-rbac.yaml");
const MULTICLUSTER: &str = include_str!("../../../charts/hub-agent/multicluster-rbac.yaml");
const MULTICLUSTER_MEMBER: &str =
    include_str!("../../../charts/hub-agent/multicluster-member-rbac.yaml");
const OFFLOAD: &str = include_str!("../../../charts/hub-agent/offload-rbac.yaml");
const TRAFFIC: &str = include_str!("../../../charts/hub-agent/traffic-rbac.yaml");
const TRAFFIC_MEMBER: &str = include_str!("../../../charts/hub-agent/traffic-member-rbac.yaml");
const TRAFFIC_AGENT: &str = include_str!("../../../charts/member-agent/traffic-rbac.yaml");
const OFFLOAD_MEMBER: &str = include_str!("../../../charts/hub-agent/offload-member-rbac.yaml");
const ORIGIN: &str = include_str!("../../../charts/member-agent/virtual-node-origin-rbac.yaml");
const EXECUTOR: &str = include_str!("../../../charts/member-agent/virtual-node-executor-rbac.yaml");
const REACH_MEMBER: &str = include_str!("../../../charts/hub-agent/reach-member-rbac.yaml");
const LEASES: &str = include_str!("../../../charts/hub-agent/lease-rbac.yaml");
const LEASE_MEMBER: &str = include_str!("../../../charts/hub-agent/lease-member-rbac.yaml");
const MEMBER_AGENT: &str = include_str!("../../../charts/member-agent/rbac.yaml");
const EXTERNAL_WORKLOADS: &str =
    include_str!("../../../charts/member-agent/external-workloads-rbac.yaml");
const MULTICLUSTER_AGENT: &str =
    include_str!("../../../charts/member-agent/multicluster-rbac.yaml");
const TOKEN_RENEWAL: &str = include_str!("../../../charts/member-agent/token-rbac.yaml");
const ENDPOINTSLICES: &str = include_str!("../../../charts/member-agent/endpointslices-rbac.yaml");

/// What stands for the member's name in the file of its rights on the hub.
const MEMBER: &str = "${MEMBER}";

/// Longer than anybody keeps a testbed running; a real member's token is renewed by the process that writes its file.
const TOKEN_SECONDS: i64 = 30 * 24 * 3600;

/// A service account and everything it may do in one cluster.
#[derive(Clone, Debug)]
pub struct Account {
    /// Where the account lives.
    pub namespace: String,
    /// Its name.
    pub name: String,
    binding: String,
    manifests: String,
}

/// One right: a verb on a resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    /// Where; `None` is everywhere.
    pub namespace: Option<String>,
    /// API group; empty for the core group.
    pub group: String,
    /// Plural, with `/<subresource>` where there is one.
    pub resource: String,
    /// What may be done.
    pub verb: String,
}

/// The hub agent on the hub.
pub fn hub_agent() -> Account {
    Account {
        namespace: SYSTEM_NAMESPACE.to_owned(),
        name: "hub-agent".to_owned(),
        binding: "hub-agent".to_owned(),
        manifests: HUB_AGENT.to_owned(),
    }
}

/// What the hub agent may do beside that for the API of multicluster.x-k8s.io.
pub fn hub_multicluster() -> Account {
    Account {
        binding: "hub-agent-multicluster".to_owned(),
        manifests: MULTICLUSTER.to_owned(),
        ..hub_agent()
    }
}

/// What the hub agent may do beside that to follow the Leases of members.
pub fn hub_leases() -> Account {
    Account {
        binding: "hub-agent-member-lease".to_owned(),
        manifests: LEASES.to_owned(),
        ..hub_agent()
    }
}

/// What the hub agent may do beside that to carry Pods of one member to another.
pub fn hub_offload() -> Account {
    Account {
        binding: "hub-agent-offload".to_owned(),
        manifests: OFFLOAD.to_owned(),
        ..hub_agent()
    }
}

/// What the hub agent may do beside that to decide about drains and silent members.
pub fn hub_traffic() -> Account {
    Account {
        binding: "hub-agent-traffic".to_owned(),
        manifests: TRAFFIC.to_owned(),
        ..hub_agent()
    }
}

/// What a member may read of these on the hub, beside [`member_on_hub`].
pub fn traffic_on_hub(member: &str) -> Account {
    Account {
        binding: format!("fleet-traffic-reader-{member}"),
        manifests: TRAFFIC_MEMBER.replace(MEMBER, member),
        ..member_on_hub(member)
    }
}

/// What a member agent may do in its own cluster where it directs traffic, beside [`member_agent`].
pub fn member_traffic() -> Account {
    Account {
        binding: "member-agent-traffic".to_owned(),
        manifests: TRAFFIC_AGENT.to_owned(),
        ..member_agent()
    }
}

/// What a member may do on the hub as an origin and as an executor of Pods, beside [`member_on_hub`].
pub fn offload_on_hub(member: &str) -> Account {
    Account {
        binding: "fleet-offload".to_owned(),
        manifests: OFFLOAD_MEMBER.replace(MEMBER, member),
        ..member_on_hub(member)
    }
}

/// What a member agent may do in its own cluster, whose Pods run in other members.
pub fn origin() -> Account {
    Account {
        binding: "member-agent-virtual-node-origin".to_owned(),
        manifests: ORIGIN.to_owned(),
        ..member_agent()
    }
}

/// What a member agent may do in its own cluster, which runs Pods of other members.
pub fn executor() -> Account {
    Account {
        binding: "member-agent-virtual-node-executor".to_owned(),
        manifests: EXECUTOR.to_owned(),
        ..member_agent()
    }
}

/// What a member may do on the hub to renew its Lease, beside [`member_on_hub`].
pub fn lease_on_hub(member: &str) -> Account {
    Account {
        binding: "fleet-member-lease".to_owned(),
        manifests: LEASE_MEMBER.replace(MEMBER, member),
        ..member_on_hub(member)
    }
}

/// What a member may do on the hub to report what it reaches, beside [`member_on_hub`].
pub fn reach_on_hub(member: &str) -> Account {
    Account {
        binding: "fleet-reach".to_owned(),
        manifests: REACH_MEMBER.replace(MEMBER, member),
        ..member_on_hub(member)
    }
}

/// What a member may do on the hub for the API of multicluster.x-k8s.io, beside [`member_on_hub`].
pub fn multicluster_on_hub(member: &str) -> Account {
    Account {
        binding: "fleet-multicluster".to_owned(),
        manifests: MULTICLUSTER_MEMBER.replace(MEMBER, member),
        ..member_on_hub(member)
    }
}

/// A member agent in its own cluster.
pub fn member_agent() -> Account {
    Account {
        namespace: SYSTEM_NAMESPACE.to_owned(),
        name: "member-agent".to_owned(),
        binding: "member-agent".to_owned(),
        manifests: MEMBER_AGENT.to_owned(),
    }
}

/// What a member agent may do beside that for external workloads.
pub fn external_workloads() -> Account {
    Account {
        binding: "member-agent-external-workloads".to_owned(),
        manifests: EXTERNAL_WORKLOADS.to_owned(),
        ..member_agent()
    }
}

/// What a member agent may do beside that for the API of multicluster.x-k8s.io.
pub fn member_multicluster() -> Account {
    Account {
        binding: "member-agent-multicluster".to_owned(),
        manifests: MULTICLUSTER_AGENT.to_owned(),
        ..member_agent()
    }
}

/// What a member agent may do beside that to renew its token for the hub.
pub fn token_renewal() -> Account {
    Account {
        binding: "member-agent-token".to_owned(),
        manifests: TOKEN_RENEWAL.to_owned(),
        ..member_agent()
    }
}

/// A member on the hub: in its own namespace alone.
pub fn member_on_hub(member: &str) -> Account {
    Account {
        namespace: member_namespace(member),
        name: "member-agent".to_owned(),
        binding: format!("fleet-rolebinding-{member}"),
        manifests: MEMBER_ON_HUB.replace(MEMBER, member),
    }
}

/// What a member agent that makes EndpointSlices of pods may do beside the rights of [`member_agent`].
pub fn endpointslices() -> Account {
    Account { manifests: ENDPOINTSLICES.to_owned(), ..member_agent() }
}

impl Account {
    /// The name that audit logs and access reviews know it by.
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }

    /// The name of its bindings: what to delete to take its rights away.
    pub fn binding(&self) -> &str {
        &self.binding
    }

    /// An account of another name with the same rights, for a further process of the same agent: audit logs distinguish
    /// them. Number 0 is the account itself.
    #[must_use]
    pub fn replica(&self, number: usize) -> Self {
        let suffix = if number == 0 { String::new() } else { format!("-{number}") };
        let own = [&self.name, &self.binding].map(|name| format!("name: {name}"));
        let rename = |line: &str| {
            let ours = own.iter().any(|own| line.ends_with(own.as_str()));
            format!("{line}{}\n", if ours { suffix.as_str() } else { "" })
        };
        Self {
            namespace: self.namespace.clone(),
            name: format!("{}{suffix}", self.name),
            binding: format!("{}{suffix}", self.binding),
            manifests: self.manifests.lines().map(rename).collect(),
        }
    }

    fn objects(&self) -> Result<Vec<Value>> {
        let documents = self.manifests.split("\n---\n");
        let read = |document| serde_saphyr::from_str(document);
        documents.map(read).collect::<Result<_, _>>().context("a file of rights is not YAML")
    }

    /// Makes the account, its roles and bindings; its namespace must exist. Repeating it changes nothing.
    pub async fn apply(&self, client: &Client) -> Result<()> {
        for object in self.objects()? {
            apply(client, object).await?;
        }
        Ok(())
    }

    /// Every single right.
    pub fn grants(&self) -> Result<BTreeSet<Grant>> {
        let texts = |value: &Value| -> Vec<String> {
            let texts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        };
        let mut grants = BTreeSet::new();
        for object in self.objects()? {
            let namespace = object["metadata"]["namespace"].as_str().map(str::to_owned);
            for rule in object["rules"].as_array().into_iter().flatten() {
                for group in texts(&rule["apiGroups"]) {
                    for resource in texts(&rule["resources"]) {
                        for verb in texts(&rule["verbs"]) {
                            let (namespace, group) = (namespace.clone(), group.clone());
                            let resource = resource.clone();
                            grants.insert(Grant { namespace, group, resource, verb });
                        }
                    }
                }
            }
        }
        Ok(grants)
    }

    /// A token of the account, good for weeks.
    pub async fn token(&self, client: &Client) -> Result<String> {
        self.request_token(client, None).await
    }

    /// A token of the account that is good as long as a Secret of its namespace exists.
    pub async fn token_bound_to(&self, client: &Client, secret: &Secret) -> Result<String> {
        let bound = BoundObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Secret".to_owned()),
            name: secret.metadata.name.clone(),
            uid: secret.metadata.uid.clone(),
        };
        self.request_token(client, Some(bound)).await
    }

    async fn request_token(
        &self,
        client: &Client,
        bound: Option<BoundObjectReference>,
    ) -> Result<String> {
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), &self.namespace);
        let request = TokenRequest {
            spec: TokenRequestSpec {
                expiration_seconds: Some(TOKEN_SECONDS),
                bound_object_ref: bound,
                ..TokenRequestSpec::default()
            },
            ..TokenRequest::default()
        };
        let answer = accounts
            .create_token_request(&self.name, &PostParams::default(), &request)
            .await
            .with_context(|| format!("get a token of {}", self.user()))?;
        Ok(answer.status.context("the token request has no status")?.token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_has_no_rights_on_the_hub_outside_its_namespace() {
        let account = member_on_hub("a");
        let grants = account.grants().unwrap();
        let home = Some("fleet-member-a".to_owned());
        assert!(!grants.is_empty() && grants.iter().all(|grant| grant.namespace == home));
        assert_eq!(account.user(), "system:serviceaccount:fleet-member-a:member-agent");
    }

    #[test]
    fn a_member_agent_writes_users_services_and_slices_nowhere() {
        let core = ["services", "endpointslices"];
        let grants = member_agent().grants().unwrap();
        let mut everywhere = grants
            .iter()
            .filter(|grant| grant.namespace.is_none() && core.contains(&grant.resource.as_str()));
        assert!(everywhere.all(|grant| ["get", "list", "watch"].contains(&grant.verb.as_str())));
    }

    /// The kubelet mounts the Secret into the agent's Pod anyway; only its owner may make another one.
    #[test]
    fn a_member_agent_reads_and_updates_one_secret() {
        let account = token_renewal();
        let objects = account.objects().unwrap();
        let role = objects.iter().find(|object| object["kind"] == "Role").unwrap();
        let rules = role["rules"].as_array().unwrap();
        assert_eq!(rules.len(), 1);
        assert_eq!(rules[0]["resourceNames"], serde_json::json!(["hub-kubeconfig-secret"]));
        let verbs: Vec<_> = account.grants().unwrap().into_iter().map(|grant| grant.verb).collect();
        assert_eq!(verbs, ["get", "update"]);
    }

    #[test]
    fn a_replica_has_the_same_rights() {
        let accounts = [hub_agent(), member_agent(), external_workloads(), member_multicluster()];
        for account in accounts.into_iter().chain([member_on_hub("a")]) {
            let other = account.replica(1);
            assert_ne!((other.user(), other.binding()), (account.user(), account.binding()));
            assert_eq!(other.grants().unwrap(), account.grants().unwrap());
        }
    }

    #[test]
    fn nothing_is_granted_wholesale_and_every_binding_names_its_account() {
        let accounts = [
            hub_agent(),
            member_agent(),
            external_workloads(),
            member_multicluster(),
            member_on_hub("a"),
            hub_leases(),
        ];
        for account in accounts.iter().flat_map(|account| [account.clone(), account.replica(1)]) {
            for grant in account.grants().unwrap() {
                let parts = [&grant.group, &grant.resource, &grant.verb];
                assert!(parts.iter().all(|part| !part.contains('*')), "{grant:?}");
                assert!(!grant.resource.starts_with("secrets"), "{grant:?}");
            }
            let objects = account.objects().unwrap();
            let bindings = objects.iter().filter(|object| !object["subjects"].is_null());
            for binding in bindings {
                let subject = &binding["subjects"][0];
                assert_eq!(subject["name"], account.name);
                assert_eq!(subject["namespace"], account.namespace);
                assert_eq!(binding["metadata"]["name"], account.binding());
            }
        }
    }
}
