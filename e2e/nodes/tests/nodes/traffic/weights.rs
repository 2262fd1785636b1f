//! Weights: calls are counted against the share that is published.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use fleet_nodes::crossing::Api;
use fleet_nodes::load::Moment;
use serde_json::{Value, json};

use super::statistics::fits;
use super::world::{Import, World, status_is};
use crate::steps::Steps;

const CALLS: u64 = 10_000;
/// Decides where the first calls do not fit: of three hundred runs that are right, one does not.
const MORE_CALLS: u64 = 40_000;

/// Weights of the first two clusters, the Pods of each, and the endpoints in use that are the closest.
const TABLE: [([u32; 2], [usize; 2], [usize; 2]); 3] =
    [([90, 10], [10, 10], [10, 1]), ([50, 50], [3, 3], [3, 3]), ([75, 25], [20, 5], [15, 5])];

pub(super) async fn check(world: &World<'_>, steps: &mut Steps) -> Result<()> {
    let [own, other] = TABLE[0].1;
    let import = world.import(Api::Standard, "weighed", [own, other, 0]);
    let import = steps.take("a Service to weigh is imported", import).await?;
    for (weights, pods, used) in TABLE {
        let what = format!("weights {weights:?} of {pods:?} Pods");
        steps.take(&what, row(world, &import, weights, pods, used)).await?;
    }
    steps.take("one Pod less", one_less(world, &import)).await
}

async fn row(
    world: &World<'_>,
    import: &Import<'_>,
    weights: [u32; 2],
    pods: [usize; 2],
    used: [usize; 2],
) -> Result<()> {
    let names = [world.name(0), world.name(1)];
    for (name, count) in names.iter().zip(pods) {
        import.servers_in(name)?.scale(count).await?;
    }
    let rows: Vec<_> = names
        .iter()
        .zip(weights)
        .map(|(name, weight)| json!({ "cluster": name, "weight": weight }))
        .collect();
    let wanted: BTreeMap<String, usize> =
        names.iter().zip(used).map(|(name, used)| ((*name).to_owned(), used)).collect();
    let spec = json!({ "weighting": "Clusters", "weights": rows });
    let begun = Moment::now();
    world.ask(import, &spec, |prepared| prepared.in_use() == wanted).await?;
    settled(world, import, &wanted, begun).await?;
    measured(world, import, &wanted).await
}

/// The status has the share of each cluster, half a minute later at most.
async fn published(
    world: &World<'_>,
    import: &Import<'_>,
    wanted: &BTreeMap<String, usize>,
) -> Result<()> {
    let whole: usize = wanted.values().sum();
    let has_shares = |status: &Value| {
        wanted.iter().all(|(cluster, used)| {
            let rows = status["clusters"].as_array().into_iter().flatten();
            let mut rows = rows.filter(|row| row["cluster"] == cluster.as_str());
            rows.any(|row| row["sharePercent"] == json!((used * 200 + whole) / (2 * whole)))
        })
    };
    status_is(world.member(0), &import.name, "it has the shares", has_shares).await
}

/// Sizes are computed again at most every ten seconds, so that shares of a moment before may change once more.
async fn settled(
    world: &World<'_>,
    import: &Import<'_>,
    wanted: &BTreeMap<String, usize>,
    begun: Moment,
) -> Result<()> {
    let later = begun.after(std::time::Duration::from_secs(11));
    world
        .until(import, "the sizes stay", |prepared| {
            Moment::now() >= later && prepared.in_use() == *wanted
        })
        .await
        .map(drop)
}

async fn measured(
    world: &World<'_>,
    import: &Import<'_>,
    shares: &BTreeMap<String, usize>,
) -> Result<()> {
    let tally = world.count(import, CALLS).await?;
    eprintln!("{tally}; shares {shares:?}");
    ensure!(tally.failed() == 0, "{tally}");
    if let Err(error) = fits(&tally, shares) {
        eprintln!("{error}: once more");
        let tally = world.count(import, MORE_CALLS).await?;
        eprintln!("{tally}");
        return fits(&tally, shares);
    }
    Ok(())
}

/// A chosen endpoint that fails is replaced at once.
async fn one_less(world: &World<'_>, import: &Import<'_>) -> Result<()> {
    let before = world.prepared(import).await?;
    let here = world.name(0);
    let chosen = before.chosen(here);
    let gone = chosen.first().map(|address| address.parse()).transpose()?;
    world.clients.set_ready(false, &gone.into_iter().collect::<Vec<_>>()).await?;
    let used = before.in_use();
    let prepared = world
        .until(import, "another one is chosen", |prepared| {
            prepared.in_use() == used && prepared.chosen(here) != chosen
        })
        .await?;
    let stay = chosen.iter().filter(|address| prepared.chosen(here).contains(address)).count();
    ensure!(stay + 1 == chosen.len(), "{stay} of {} are chosen as before", chosen.len());
    world.clients.wait_synced().await?;
    measured(world, import, &used).await?;
    published(world, import, &used).await
}
