//! The whole life of a fleet made by the charts: installed, at work, upgraded, rolled back, uninstalled.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use fleet_testbed::exchange::{export, import, wait_imported};
use fleet_testbed::join::namespace;
use fleet_testbed::pod::Running;
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};
use serde_json::json;

use crate::admission::is_admitted;
use crate::fleet::{DEADLINE, Fleet};
use crate::{definitions, edited, life, mended, replicas, rotation, with};

pub(crate) const SHOP: &str = "shop";
pub(crate) const WEB: &str = "web";

#[tokio::test(flavor = "multi_thread")]
async fn charts_carry_a_fleet_from_install_to_uninstall() {
    Fleet::with(story).await;
}

/// The chapters build on each other: each needs what the one before has left.
async fn story(fleet: &Fleet) -> Result<()> {
    definitions::installed_by_others_are_left_alone(fleet).await?;
    install(fleet).await?;
    let mut agents = Agents::start(fleet).await?;
    let web = services_cross(fleet).await?;
    replicas::take_over(fleet, &mut agents, &web).await?;
    rotation::a_token_is_replaced(fleet, &agents.east, &web).await?;
    rotation::an_agent_renews_its_token(fleet, agents.west.as_ref(), &web).await?;
    life::upgrade_and_rollback(fleet).await?;
    edited::what_others_make_stays(fleet).await?;
    definitions::are_upgraded_with_the_chart(fleet).await?;
    definitions::are_shared_by_two_charts(fleet).await?;
    definitions::are_taken_over_on_demand(fleet).await?;
    life::an_importer_is_uninstalled_and_comes_back(fleet, &mut agents, &web).await?;
    fleet.nothing_was_refused()?;
    mended::what_is_broken(fleet, &web).await?;
    life::everything_is_uninstalled(fleet, agents).await
}

/// The processes of the three Deployments, one for all replicas of each.
pub(crate) struct Agents {
    pub(crate) hub: Running,
    pub(crate) east: Running,
    pub(crate) west: Option<Running>,
}

impl Agents {
    async fn start(fleet: &Fleet) -> Result<Self> {
        let run = fleet.bare().run();
        Ok(Self {
            hub: Running::start(fleet.hub(), "hub-agent", run).await?,
            east: Running::start(fleet.east(), "member-agent", run).await?,
            west: Some(Running::start(fleet.west(), "member-agent", run).await?),
        })
    }
}

/// East is a member by the hub chart's values, west by `fleetctl`, whose output the member chart takes. The hub is strict, as it
/// is by default: both need a member policy.
async fn install(fleet: &Fleet) -> Result<()> {
    let (hub, east, west) = (fleet.hub(), fleet.east(), fleet.west());
    let everything = json!({ "cidrs": ["0.0.0.0/0"], "exports": ["*"], "imports": [] });
    let policies = json!({ "members": { "east": everything } });
    let members = json!({
        "members": [{ "name": "east" }], "memberTokens": "long-lived", "policies": policies,
    });
    let members = with(members, &replicas::election());
    let notes = fleet.release(hub, "hub-agent").install(&members, &[]).await?;
    ensure!(!notes.contains("policies.strict"), "{notes}");
    ensure!(notes.contains("-n fleet-member-east get secret member-agent-token"), "{notes}");
    is_admitted(hub, "hub-agent").await?;

    let values = with(fleet.member_values(east)?, &replicas::election());
    let notes = fleet.release(east, "member-agent").install(&values, &[]).await?;
    ensure!(notes.contains("This Secret does not exist yet"), "{notes}");
    fleet.hand_token_over(east).await?;
    is_admitted(east, "member-agent").await?;

    let values = with(fleet.join(west).await?, &json!({ "derivedServiceGracePeriod": "0s" }));
    let notes = fleet.release(west, "member-agent").install(&values, &[]).await?;
    ensure!(!notes.contains("This Secret does not exist yet"), "{notes}");
    is_admitted(west, "member-agent").await
}

/// A Service of east is used in west.
async fn services_cross(fleet: &Fleet) -> Result<ManualService> {
    for cluster in fleet.bare().clusters() {
        namespace(&cluster.client(), SHOP).await?;
    }
    let address = next_address();
    let spec = ServiceSpec::http(SHOP, WEB);
    let web = ManualService::deploy(fleet.east(), &spec, std::slice::from_ref(&address)).await?;
    export(fleet.east(), SHOP, WEB).await?;
    import(fleet.west(), SHOP, WEB, WEB).await?;
    wait_imported(fleet.west(), SHOP, WEB, &BTreeSet::from([address]), DEADLINE).await?;
    Ok(web)
}
