//! The namespace that a member has on the hub is deleted with everything in it, and made again.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use fleet_api::kinds;
use fleet_api::names::member_namespace;
use fleet_testbed::agents::Agents;
use fleet_testbed::exchange::{export, import, unexport, unimport, wait_imported};
use fleet_testbed::join;
use fleet_testbed::objects::Found;
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::stage::{DEADLINE, IMPORTER, Stage, condition};
use crate::tests::Tests;

pub(crate) fn add(tests: &mut Tests) {
    if std::env::var_os(fleet_testbed::fleet::HUB_KUBECONFIG).is_some() {
        return; // In the fleets of others it would take along what is not ours to take.
    }
    tests.apart("home::a_members_goes_and_comes", a_members_goes_and_comes);
}

/// Keeps an object until it is taken away.
const HOLD: &str = "example.com/hold";

/// F29, S31, L5: a member that exports and imports loses its namespace on the hub. What it exported leaves the others,
/// what it imported leaves it, the namespace is not blocked, and users read why; when the namespace is back, so is
/// everything else, without a restart. The member's rights go last: an agent that loses them first can release nothing,
/// which is the fault of `vanished`.
async fn a_members_goes_and_comes(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let (member, other) = (stage.importer(), stage.exporter());
    let crossing = stage.crossing("home", &[IMPORTER]).await?;
    let namespace = crossing.namespace.as_str();
    let address = next_address();
    let spec = ServiceSpec::http(namespace, "desk");
    let desk = ManualService::deploy(member, &spec, std::slice::from_ref(&address)).await?;
    export(member, namespace, "desk").await?;
    import(other, namespace, "desk", "desk").await?;
    let (all, nothing) = (BTreeSet::from([address]), BTreeSet::new());
    wait_imported(other, namespace, "desk", &all, DEADLINE).await?;

    let home = member_namespace(member.name());
    let namespaces: Api<Namespace> = Api::all(stage.hub().client());
    hold_rights(stage, &home, json!([HOLD])).await?;
    namespaces.delete(&home, &DeleteParams::default()).await?;
    wait_imported(other, namespace, "desk", &nothing, DEADLINE).await?;
    wait_imported(member, namespace, "web", &nothing, DEADLINE).await?;
    wait_until("nothing of the member is left on the hub", DEADLINE, async || {
        let left = stage.leftovers().await?;
        let at_home = |one: &Found| one.object.metadata.namespace.as_deref() == Some(&*home);
        Ok(!left.iter().any(at_home))
    })
    .await?;
    hold_rights(stage, &home, Value::Null).await?;
    // The namespace controller looks again after some seconds.
    let gone = async || Ok(namespaces.get_opt(&home).await?.is_none());
    wait_until("the member's namespace is gone", 2 * DEADLINE, gone).await?;
    // Users read that both wait for the hub.
    let (export, wish) = ((namespace, "desk"), (namespace, "web"));
    condition(member, kinds::SERVICE_EXPORT, export, ("Conflict", "Unknown")).await?;
    condition(member, kinds::MULTI_CLUSTER_SERVICE, wish, ("Valid", "Unknown")).await?;
    agents.check_alive()?;

    let token = stage.hub_token_path(IMPORTER);
    let folder = token.parent().context("the token is in a folder")?;
    join::join_member(stage.hub(), member, folder).await?;
    wait_imported(other, namespace, "desk", &all, DEADLINE).await?;
    crossing.arrived().await?;
    agents.check_alive()?;

    unexport(member, namespace, "desk").await?;
    unimport(other, namespace, "desk").await?;
    desk.delete().await?;
    crossing.withdraw().await
}

/// Keeps the member's account and rights in a namespace that is going away, or lets them go.
async fn hold_rights(stage: &Stage, home: &str, finalizers: Value) -> Result<()> {
    let hub = stage.hub().client();
    let patch = Patch::Merge(json!({ "metadata": { "finalizers": finalizers } }));
    let params = PatchParams::default();
    let bindings: Api<RoleBinding> = Api::namespaced(hub.clone(), home);
    for one in bindings.list(&ListParams::default()).await? {
        bindings.patch(&one.metadata.name.unwrap_or_default(), &params, &patch).await?;
    }
    let roles: Api<Role> = Api::namespaced(hub.clone(), home);
    for one in roles.list(&ListParams::default()).await? {
        roles.patch(&one.metadata.name.unwrap_or_default(), &params, &patch).await?;
    }
    let accounts: Api<ServiceAccount> = Api::namespaced(hub, home);
    accounts.patch("member-agent", &params, &patch).await?;
    Ok(())
}
