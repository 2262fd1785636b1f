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
use crate::manifests::{ACCOUNT, is_of_chart, make};
use crate::member_objects::{QUOTA, membership, namespace, rights};
use crate::objects::{api, find, is_served};
use crate::output::report;
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

/// Creates everything on the hub. Returns the agent's service account.
pub(crate) async fn place(client: &Client, args: &JoinArgs) -> Result<Value> {
    let name = &args.name;
    let own = names::member_namespace(name);
    if find(client, kinds::NAMESPACE, None, &own).await?.is_none() {
        make(client, &namespace(name), args.dry_run).await?;
    }
    let rights = rights(name)?;
    if is_of_chart(client, ACCOUNT, Some(&own), "member-agent").await? {
        report(&format!("Unchanged: the hub's chart makes the rights of {name}"));
    } else {
        for object in &rights {
            make(client, object, args.dry_run).await?;
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
    let account = rights.into_iter().find(|object| object["kind"] == "ServiceAccount");
    account.context("member-rbac.yaml has no ServiceAccount")
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
