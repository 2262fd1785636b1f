//! The place of a member: its namespace and rights on the hub, and the Secret with its token in its own cluster.

use anyhow::{Context as _, Result, bail};
use fleet_accumulator::one_line;
use fleet_api::{kinds, names};
use fleet_model::hub_schema::GROUP_VERSION;
use kube::Client;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::args::JoinArgs;
use crate::credentials::Credentials;
use crate::manifests::{ACCOUNT, make, of_chart};
use crate::member_objects::{QUOTA, membership, namespace, rights};
use crate::objects::{api, find, is_served};
use crate::output::report;
use crate::rbac::ROLE_BINDING;
use crate::{member_policy, parts, quotas};

/// Checks that a member can be joined here.
pub(crate) async fn check_hub(client: &Client, name: &str) -> Result<()> {
    if !is_served(client, kinds::INTERNAL_SERVICE_EXPORT).await? {
        bail!("the hub does not serve {GROUP_VERSION}: install the hub-agent chart first");
    }
    if find(client, kinds::MEMBER_CLUSTER, None, name).await?.is_some() {
        bail!(
            "KubeFleet manages {name} (a MemberCluster of that name exists), and creates its namespace and credentials: \
             there is nothing to join"
        );
    }
    Ok(())
}

/// Creates everything on the hub. Returns the agent's service account; of a member with an identity of its own, the name of that.
pub(crate) async fn place(client: &Client, args: &JoinArgs) -> Result<Identity> {
    let name = &args.name;
    let own = names::member_namespace(name);
    if find(client, kinds::NAMESPACE, None, &own).await?.is_none() {
        make(client, &namespace(name), args.dry_run).await?;
    }
    let rights = rights(name)?;
    // The chart makes no account for a member that brings an identity, so the binding shows whose the rights are.
    let binding = format!("fleet-rolebinding-{name}");
    let binding = of_chart(client, ROLE_BINDING, Some(&own), &binding).await?;
    let account = rights.iter().find(|object| object["kind"] == "ServiceAccount");
    let account = account.context("member-rbac.yaml has no ServiceAccount")?.clone();
    let others = binding.as_ref().and_then(|binding| others(&binding.data["subjects"], &account));
    if binding.is_none() {
        for object in &rights {
            make(client, object, args.dry_run).await?;
        }
    } else {
        report(&format!("Unchanged: the hub's chart makes the rights of {name}"));
        // Not by the chart, where the account is one of several subjects.
        if others.is_none() && find(client, ACCOUNT, Some(&own), "member-agent").await?.is_none() {
            make(client, &account, args.dry_run).await?;
        }
    }
    parts::grant(client, name, args.dry_run).await;
    quotas::limit(client, name, QUOTA, &quotas::COUNTED, args.dry_run).await;
    member_policy::write(client, name, &args.policy, args.dry_run).await?;
    if is_served(client, kinds::INTERNAL_MEMBER_CLUSTER).await? {
        ask_to_join(client, name, args.dry_run).await?;
    } else {
        report(
            "The hub does not serve InternalMemberCluster: a member is in the fleet as long as its namespace exists.",
        );
    }
    Ok(others.map_or(Identity::Account(account), Identity::Own))
}

/// Who a member is on the hub.
pub(crate) enum Identity {
    /// This service account.
    Account(Value),
    /// Users that the values of the hub's chart name.
    Own(String),
}

impl Identity {
    /// The account, for which there are tokens.
    ///
    /// # Errors
    /// If the member has none.
    pub(crate) fn account(self, name: &str) -> Result<Value> {
        match self {
            Self::Account(account) => Ok(account),
            Self::Own(users) => bail!(
                "{name} gets no token: the hub's chart binds its rights to {users} (subjects). Give its agent that identity, by \
                 config.provider kubeconfig or projected, and use --print nothing here"
            ),
        }
    }
}

/// The subjects of a binding, where the account is none of them.
fn others(subjects: &Value, account: &Value) -> Option<String> {
    let subjects = subjects.as_array()?;
    let is_account = |subject: &Value| {
        let metadata = &account["metadata"];
        subject["kind"] == account["kind"]
            && ["name", "namespace"].iter().all(|field| subject[*field] == metadata[*field])
    };
    let named = || subjects.iter().map(|it| format!("{} {}", text(&it["kind"]), text(&it["name"])));
    (!subjects.iter().any(is_account)).then(|| named().collect::<Vec<_>>().join(", "))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Asks the member to join; an existing InternalMemberCluster keeps everything but its state.
async fn ask_to_join(client: &Client, name: &str, dry_run: bool) -> Result<()> {
    let (kind, own) = (kinds::INTERNAL_MEMBER_CLUSTER, names::member_namespace(name));
    let Some(membership) = find(client, kind, Some(&own), name).await? else {
        return make(client, &membership(name), dry_run).await;
    };
    let joins = membership.data["spec"]["state"] == "Join";
    if joins || dry_run {
        let state = if joins { "is asked to join" } else { "would be asked to join again" };
        report(&format!("Member {name} {state}"));
        return Ok(());
    }
    set_joining(client, name).await?;
    report(&format!("Asked member {name} to join again"));
    Ok(())
}

/// Asks a member to join.
async fn set_joining(client: &Client, name: &str) -> Result<()> {
    let own = names::member_namespace(name);
    let patch = Patch::Merge(json!({ "spec": { "state": "Join" } }));
    let memberships = api(client.clone(), kinds::INTERNAL_MEMBER_CLUSTER, Some(&own));
    let patched = memberships.patch(name, &PatchParams::default(), &patch).await;
    patched.map_err(|error| anyhow::anyhow!("ask {name} to join: {}", one_line(&error)))?;
    Ok(())
}

/// Makes a namespace unless it exists.
pub(crate) async fn make_namespace(client: &Client, name: &str) -> Result<()> {
    if find(client, kinds::NAMESPACE, None, name).await?.is_some() {
        return Ok(());
    }
    let object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    make(client, &object, false).await
}

/// Stores the token in the member's own cluster.
pub(crate) async fn keep(own: &Client, credentials: &Credentials) -> Result<()> {
    make_namespace(own, &credentials.secret_namespace).await?;
    make(own, &credentials.secret(), false).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_with_an_identity_of_its_own_gets_no_token() {
        let all = rights("east").unwrap();
        let of_kind = |kind: &str| all.iter().find(|object| object["kind"] == kind).unwrap();
        let account = of_kind("ServiceAccount");
        let subjects = &of_kind("RoleBinding")["subjects"];
        assert_eq!(others(subjects, account), None, "as the chart and join bind them");
        let mut elsewhere = subjects.clone();
        elsewhere[0]["namespace"] = json!("kube-system");
        assert_eq!(others(&elsewhere, account).unwrap(), "ServiceAccount member-agent");
        let user = json!({ "kind": "User", "name": "east" });
        let both = json!([user, subjects[0]]);
        assert_eq!(others(&both, account), None, "it is one of them");
        let users = others(&json!([user]), account).unwrap();
        let error = Identity::Own(users).account("east").unwrap_err().to_string();
        assert!(error.contains("binds its rights to User east (subjects)"), "{error}");
    }
}
