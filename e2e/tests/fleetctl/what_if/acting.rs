//! Actions as users and failures do them.

use anyhow::Result;
use fleet_api::kinds;
use fleet_testbed::Testbed;
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::objects::{api, find, remove};
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;

use super::action::{Action, Applied, name};
use super::{MEMBERS, SHOP};

/// Does it.
pub(super) async fn act(testbed: &Testbed, agents: &mut Agents, action: &Action) -> Result<()> {
    match action {
        Action::Lose(member) => agents.kill(Agent::Member(*member)),
        Action::Drain { member, service, force } => drain(testbed, *member, *service, *force).await,
        Action::Unexport { service, from } => {
            for member in (0..MEMBERS).filter(|member| from.is_none_or(|from| from == *member)) {
                let member = testbed.member(member);
                let name = (SHOP, *service);
                if find(member, kinds::SERVICE_EXPORT, name).await?.is_some() {
                    remove(member, kinds::SERVICE_EXPORT, name).await?;
                }
            }
            Ok(())
        }
        _ => match action.applied() {
            Some(applied) => put(testbed, applied).await,
            None => Ok(()),
        },
    }
}

/// Asks for a drain in the place of an earlier one, as `fleetctl drain` does where it does not refuse.
async fn drain(testbed: &Testbed, member: usize, service: Option<&str>, force: bool) -> Result<()> {
    let drained = service.map_or_else(|| "*".to_owned(), |service| format!("{SHOP}/{service}"));
    let all = api(testbed.hub().client(), kinds::MEMBER_TRAFFIC, None);
    let mut found = all.get(&name(member)).await?;
    let drains = found.data["spec"]["drains"].as_array().cloned().unwrap_or_default();
    let mut drains: Vec<_> = drains.into_iter().filter(|it| it["service"] != drained).collect();
    drains.push(json!({ "service": drained, "percent": 100, "force": force }));
    found.data["spec"]["drains"] = json!(drains);
    all.replace(&name(member), &PostParams::default(), &found).await?;
    Ok(())
}

/// Creates an object, or merges into the one that is there, as `kubectl apply` does with one that it has not applied before.
async fn put(testbed: &Testbed, applied: Applied) -> Result<()> {
    let Applied { kind, namespace, name, spec, to } = applied;
    let cluster = to.map_or_else(|| testbed.hub(), |member| testbed.member(member));
    let all = api(cluster.client(), kind, namespace);
    if all.get_opt(&name).await?.is_some() {
        let patch = Patch::Merge(json!({ "spec": spec }));
        all.patch(&name, &PatchParams::default(), &patch).await?;
    } else {
        let object = json!({
            "apiVersion": kind.api_version(), "kind": kind.kind,
            "metadata": { "name": name, "namespace": namespace }, "spec": spec,
        });
        all.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
    }
    Ok(())
}
