//! A member that the hub's chart joins with an identity of its own (`subjects`): joining changes nothing of whose its rights are.

use anyhow::{Context, Result, ensure};
use fleet_testbed::Testbed;
use fleet_testbed::apply::apply;
use fleet_testbed::join::namespace;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::Api;
use serde_json::json;

use crate::home;
use crate::tool::Tool;

const NORTH: &str = "north";
const BINDING: &str = "fleet-rolebinding-north";

/// The hub has of it what the chart makes.
pub(crate) async fn who_brings_an_identity_keeps_it(testbed: &Testbed, tool: &Tool) -> Result<()> {
    let (hub, home) = (testbed.hub().client(), home(NORTH));
    namespace(&hub, &home).await?;
    let group = "rbac.authorization.k8s.io";
    let user = json!({ "kind": "User", "name": NORTH, "apiGroup": group });
    let binding = json!({
        "apiVersion": format!("{group}/v1"), "kind": "RoleBinding",
        "metadata": { "name": BINDING, "namespace": home,
            "labels": { "app.kubernetes.io/managed-by": "Helm" } },
        "roleRef": { "apiGroup": group, "kind": "Role", "name": "fleet-role-north" },
        "subjects": [user],
    });
    apply(&hub, binding).await?;

    let said = tool.run(&["join", NORTH, "--print", "nothing"]).await?.succeeds()?;
    said.tells(&[
        "Unchanged: the hub's chart makes the rights of north",
        "Applied ConfigMap member-policy",
    ])?;
    let said = tool.run(&["join", NORTH, "--print", "token"]).await?.exits(2)?;
    said.tells(&["north gets no token: the hub's chart binds its rights to User north"])?;
    ensure!(said.out.is_empty(), "{said:?}");

    let bindings: Api<RoleBinding> = Api::namespaced(hub.clone(), &home);
    let subjects = bindings.get(BINDING).await?.subjects.context("subjects")?;
    ensure!(subjects.len() == 1 && subjects[0].name == NORTH, "{subjects:?}");
    let accounts: Api<ServiceAccount> = Api::namespaced(hub, &home);
    ensure!(accounts.get_opt("member-agent").await?.is_none(), "it has an account, too");
    Ok(())
}
