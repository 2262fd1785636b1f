//! An agent that cannot work says so on the user's objects, and goes on by itself once it can.

use anyhow::Result;
use fleet_api::events::HELD_UP;
use fleet_api::names::member_namespace;
use fleet_e2e::exchange;
use fleet_e2e::testbed::agents::{Agent, Agents};
use fleet_e2e::testbed::rbac;
use fleet_e2e::wait::wait_until;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::Api;
use kube::api::{DeleteParams, ListParams};

use crate::stage::{DEADLINE, EXPORTER, Stage, accepted};
use crate::tests::Tests;

pub(crate) fn add(tests: &mut Tests) {
    if std::env::var_os(fleet_e2e::fleet::HUB_KUBECONFIG).is_some() {
        return; // Nobody else's rights are ours to take.
    }
    tests.alone("held_up::a_member_without_rights_on_the_hub", a_member_without_rights_on_the_hub);
}

/// A forbidden watch: an Event on the ServiceExport, no silence; and recovery without a restart.
async fn a_member_without_rights_on_the_hub(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let namespace = stage.namespace("heldup").await?;
    let member = stage.exporter().name();
    let hub_namespace = member_namespace(member);
    let bindings: Api<RoleBinding> = Api::namespaced(stage.hub().client(), &hub_namespace);
    let account = rbac::member_on_hub(member);
    bindings.delete(account.binding(), &DeleteParams::default()).await?;
    agents.kill(Agent::Member(EXPORTER))?;
    agents.launch(Agent::Member(EXPORTER))?;

    let crossing = stage.exported(&namespace, "web").await?;
    let told = async || {
        let events: Api<Event> = Api::namespaced(stage.exporter().client(), &namespace);
        let events = events.list(&ListParams::default()).await?;
        Ok(events.iter().any(|event| {
            let note = event.note.as_deref().unwrap_or_default();
            event.reason.as_deref() == Some(HELD_UP) && note.contains("forbidden")
        }))
    };
    wait_until("the ServiceExport has an Event that says why nothing happens", DEADLINE, told)
        .await?;
    account.apply(&stage.hub().client()).await?;
    accepted(stage, crossing.key()).await?;
    agents.wait_ready().await?;
    exchange::unexport(stage.exporter(), &namespace, "web").await?;
    stage.nothing_left(&namespace).await
}
