//! Lets importers forget a member that does not come back to a hub that was rebuilt.

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use fleet_api::traffic::{FLEET_TRAFFIC, FleetTraffic, MemberTraffic, SilenceState};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};

use super::args::ForgetArgs;
use super::write;
use crate::args::Cli;
use crate::member_objects::check_name;
use crate::output::report;

/// The namespace whose uid stands for the hub.
const OF_CLUSTER: &str = "kube-system";

/// Runs the command.
pub(crate) async fn forget(cli: &Cli, args: &ForgetArgs) -> Result<ExitCode> {
    let member = &args.forgotten;
    check_name(member)?;
    let contexts = cli.access.contexts()?;
    let hub = contexts.connect(&contexts.hub).await?.write;
    let objects: Api<MemberTraffic> = Api::all(hub.clone());
    let found = objects.get_opt(member).await?;
    if found.as_ref().is_some_and(is_heard) {
        bail!("{member} renews its Lease: what it exports comes back by itself");
    }
    if found.is_none() {
        let metadata = ObjectMeta { name: Some(member.clone()), ..ObjectMeta::default() };
        let object = MemberTraffic { metadata, ..MemberTraffic::default() };
        objects.create(&PostParams::default(), &object).await?;
    }
    let incarnation = incarnation(&hub).await?;
    write::change(&hub, member, |spec, _| spec.forgotten_in = Some(incarnation.clone())).await?;
    report(&format!(
        "Importers forget what {member} exported to an earlier hub, and this one lacks"
    ));
    Ok(ExitCode::SUCCESS)
}

fn is_heard(member: &MemberTraffic) -> bool {
    let silence = member.status.as_ref().and_then(|status| status.silence.as_ref());
    silence.is_some_and(|silence| silence.state == SilenceState::Heard && silence.percent == 0)
}

/// The incarnation of the hub.
async fn incarnation(hub: &Client) -> Result<String> {
    let fleet = Api::<FleetTraffic>::all(hub.clone()).get_opt(FLEET_TRAFFIC).await?;
    let fleet = fleet.context("the hub has no FleetTraffic: importers hold nothing for it")?;
    let namespace = Api::<Namespace>::all(hub.clone()).get(OF_CLUSTER).await?;
    let uid = namespace.metadata.uid.context("kube-system has no uid")?;
    let epoch = fleet.status.map_or(0, |status| status.epoch);
    Ok(format!("{uid}/{epoch}"))
}
