//! The script of `fleetctl rebuild-hub` for a hub that is gone, on an empty one: the chart of the hub agent finds the namespaces that it
//! needs and takes over the one that is its own, and each member gets a token where its agent reads it.

use anyhow::{Result, ensure};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::pod::NAMESPACE;
use fleet_testbed::wait::wait_until;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::Api;
use serde_json::{Value, json};

use crate::desk::{Desk, FLEET};
use crate::fleet::{DEADLINE, Fleet};
use crate::with;

/// The Secret that the chart of the member agent names in east.
const MINE: &str = "mine";
/// The one that it names by default. West has no chart.
const USUAL: &str = "hub-kubeconfig-secret";

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_is_built_anew_by_its_script() {
    Fleet::with(story).await;
}

async fn story(fleet: &Fleet) -> Result<()> {
    let (hub, east, west) = (fleet.hub(), fleet.east(), fleet.west());
    let mine = with(fleet.member_values(east)?, &json!({ "secret": { "name": MINE } }));
    fleet.release(east, "member-agent").install(&mine, &[]).await?;
    let desk = Desk::new(fleet).await?;
    let script = desk.run(&format!("fleetctl rebuild-hub {FLEET} > hub.sh; cat hub.sh")).await?;
    let join = "\nfleetctl join east --secret --print nothing --hub-context prod-hub --member east=prod-east --secret-name mine\n";
    ensure!(script.contains(join), "{script}");

    desk.run("sh hub.sh && exit 3 || [ $? = 1 ]").await?;
    for member in [east, west] {
        ensure!(
            !is_of_chart(hub, member).await?,
            "its namespace is there, and not yet the chart's"
        );
    }
    ensure!(!has_token(east, MINE).await? && !has_token(west, USUAL).await?, "it has ended");
    fleet.release(hub, "hub-agent").install(&values(), &[]).await?;
    wait_until("the script runs to its end", DEADLINE, async || {
        desk.run("sh hub.sh").await?;
        Ok(true)
    })
    .await?;
    ensure!(is_of_chart(hub, east).await?, "the chart has taken it over");
    ensure!(!is_of_chart(hub, west).await?, "the chart does not join it");
    ensure!(has_token(east, MINE).await? && has_token(west, USUAL).await?, "both have joined");
    ensure!(!has_token(east, USUAL).await?, "no agent reads it");
    Ok(())
}

/// The chart joins east, and has a policy for both.
fn values() -> Value {
    let everything = json!({ "cidrs": ["0.0.0.0/0"], "exports": ["*"], "imports": ["*"] });
    json!({
        "members": [{ "name": "east" }], "memberTokens": "bound",
        "policies": { "members": { "east": everything, "west": everything } },
    })
}

/// Whether the namespace of a member on the hub is made as the chart makes it. Fails if there is none.
async fn is_of_chart(hub: &Cluster, member: &Cluster) -> Result<bool> {
    let name = format!("fleet-member-{}", member.name());
    let namespace = Api::<Namespace>::all(hub.client()).get(&name).await?;
    Ok(namespace.metadata.labels.is_some_and(|labels| labels.contains_key("helm.sh/chart")))
}

async fn has_token(member: &Cluster, secret: &str) -> Result<bool> {
    let secrets: Api<Secret> = Api::namespaced(member.client(), NAMESPACE);
    let data = secrets.get_opt(secret).await?.and_then(|secret| secret.data);
    Ok(data.is_some_and(|data| data.contains_key("token")))
}
