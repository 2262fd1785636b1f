//! Who may do what: the service accounts of the agents and their rights, all in this file.
//!
//! Rights are as small as the agents' work allows, so that a test fails when an agent reaches further.

use anyhow::{Context, Result};
use fleet_api::names::{SYSTEM_NAMESPACE, member_namespace};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;

use super::apply::apply;

const NETWORKING: &str = "networking.fleet.azure.com";
const MEMBERSHIP: &str = "cluster.kubernetes-fleet.io";

const READ: &[&str] = &["get", "list", "watch"];
const CHANGE: &[&str] = &["get", "list", "watch", "update", "patch"];
const OWN: &[&str] = &["get", "list", "watch", "create", "update", "patch", "delete"];
const STATUS: &[&str] = &["get", "update", "patch"];

/// Longer than anybody keeps a testbed running; a real member's token is renewed by whoever writes its file.
const TOKEN_SECONDS: i64 = 30 * 24 * 3600;

/// A service account and everything it may do in one cluster.
#[derive(Clone, Debug)]
pub struct Account {
    /// Where the account lives.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Names of its Role, `ClusterRole` and their bindings.
    role: String,
    binding: String,
    /// What it may do in every namespace, and to cluster-scoped objects.
    everywhere: Vec<PolicyRule>,
    /// What it may do in its own namespace only.
    at_home: Vec<PolicyRule>,
}

/// The hub agent on the hub.
///
/// It finishes what members put into their namespaces (finalizers, conditions), and owns the `ServiceImport`s and the
/// copies of slices for importers.
pub fn hub_agent() -> Account {
    Account {
        namespace: SYSTEM_NAMESPACE.to_owned(),
        name: "hub-agent".to_owned(),
        role: "hub-agent".to_owned(),
        binding: "hub-agent".to_owned(),
        everywhere: vec![
            rule(
                NETWORKING,
                &["internalserviceexports", "internalserviceimports", "endpointsliceexports"],
                CHANGE,
            ),
            rule(NETWORKING, &["serviceimports", "endpointsliceimports"], OWN),
            rule(
                NETWORKING,
                &[
                    "internalserviceexports/status",
                    "internalserviceimports/status",
                    "serviceimports/status",
                ],
                STATUS,
            ),
            rule(MEMBERSHIP, &["memberclusters", "internalmemberclusters"], READ),
            rule("", &["namespaces"], READ),
            schemas(),
            events("", &["create", "patch", "update"]),
            events("events.k8s.io", &["create", "patch", "update"]),
        ],
        at_home: vec![leases()],
    }
}

/// A member agent in its own cluster.
///
/// It reads Services and EndpointSlices everywhere and writes them in its own namespace only: those of users are none
/// of its business.
pub fn member_agent() -> Account {
    Account {
        namespace: SYSTEM_NAMESPACE.to_owned(),
        name: "member-agent".to_owned(),
        role: "member-agent".to_owned(),
        binding: "member-agent".to_owned(),
        everywhere: vec![
            rule("", &["services", "namespaces"], READ),
            rule("discovery.k8s.io", &["endpointslices"], READ),
            rule(NETWORKING, &["serviceexports", "multiclusterservices"], CHANGE),
            rule(NETWORKING, &["serviceimports"], OWN),
            rule(
                NETWORKING,
                &["serviceexports/status", "multiclusterservices/status", "serviceimports/status"],
                STATUS,
            ),
            // Some distributions demand this for an owner reference that blocks deletion.
            rule(NETWORKING, &["multiclusterservices/finalizers"], &["update"]),
            schemas(),
            events("", &["create", "patch", "update"]),
            events("events.k8s.io", &["create", "patch", "update"]),
        ],
        at_home: vec![
            rule("", &["services"], OWN),
            rule("discovery.k8s.io", &["endpointslices"], OWN),
            leases(),
        ],
    }
}

/// A member on the hub, as KubeFleet sets it up: everything in the fleet's groups, but in its own namespace alone.
pub fn member_on_hub(member: &str) -> Account {
    Account {
        namespace: member_namespace(member),
        name: "member-agent".to_owned(),
        role: format!("fleet-role-{member}"),
        binding: format!("fleet-rolebinding-{member}"),
        everywhere: Vec::new(),
        at_home: vec![
            rule(NETWORKING, &["*"], &["*"]),
            rule(MEMBERSHIP, &["*"], &["*"]),
            // KubeFleet grants the core group's events only.
            events("", &["create", "get", "list", "patch", "update", "watch"]),
        ],
    }
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

    /// Makes the account, its roles and bindings; its namespace must exist. Repeating it changes nothing.
    pub async fn apply(&self, client: &Client) -> Result<()> {
        let subject = json!([{
            "kind": "ServiceAccount", "name": self.name, "namespace": self.namespace,
        }]);
        let mut objects = vec![json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": { "name": self.name, "namespace": self.namespace },
        })];
        let scopes = [
            (&self.everywhere, "ClusterRole", "ClusterRoleBinding", None),
            (&self.at_home, "Role", "RoleBinding", Some(&self.namespace)),
        ];
        for (rules, role_kind, binding_kind, namespace) in scopes {
            if rules.is_empty() {
                continue;
            }
            let mut role = json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": role_kind,
                "metadata": { "name": self.role },
                "rules": rules,
            });
            let mut binding = json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": binding_kind,
                "metadata": { "name": self.binding },
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": self.role,
                },
                "subjects": subject,
            });
            if let Some(namespace) = namespace {
                role["metadata"]["namespace"] = namespace.as_str().into();
                binding["metadata"]["namespace"] = namespace.as_str().into();
            }
            objects.extend([role, binding]);
        }
        for object in objects {
            apply(client, object).await?;
        }
        Ok(())
    }

    /// A token of the account, good for weeks.
    pub async fn token(&self, client: &Client) -> Result<String> {
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), &self.namespace);
        let request = TokenRequest {
            spec: TokenRequestSpec {
                expiration_seconds: Some(TOKEN_SECONDS),
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

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> PolicyRule {
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(owned(resources)),
        verbs: owned(verbs),
        ..PolicyRule::default()
    }
}

fn events(group: &str, verbs: &[&str]) -> PolicyRule {
    rule(group, &["events"], verbs)
}

fn leases() -> PolicyRule {
    rule("coordination.k8s.io", &["leases"], &["get", "list", "watch", "create", "update", "patch"])
}

/// The agents look whether the served schema has the fields they would add.
fn schemas() -> PolicyRule {
    rule("apiextensions.k8s.io", &["customresourcedefinitions"], READ)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_has_no_rights_on_the_hub_outside_its_namespace() {
        let account = member_on_hub("a");
        assert!(account.everywhere.is_empty());
        assert_eq!(account.user(), "system:serviceaccount:fleet-member-a:member-agent");
    }

    #[test]
    fn a_member_agent_writes_users_services_and_slices_nowhere() {
        let writes =
            |rule: &&PolicyRule| rule.verbs.iter().any(|verb| !READ.contains(&verb.as_str()));
        let account = member_agent();
        for rule in account.everywhere.iter().filter(writes) {
            let resources = rule.resources.clone().unwrap_or_default();
            assert!(!resources.iter().any(|name| name == "services" || name == "endpointslices"));
        }
    }
}
