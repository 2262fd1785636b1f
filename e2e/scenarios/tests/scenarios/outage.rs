//! API servers go away for a while.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{ResourceKind, kinds, labels};
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange::{imported_slices, wait_gone, wait_imported};
use fleet_testbed::observer::Observer;
use fleet_testbed::rbac;
use fleet_testbed::scrape::Scrape;
use fleet_testbed::timing::promised;
use fleet_testbed::wait::wait_until;
use futures::future::try_join_all;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::Api;
use kube::api::DeleteParams;

use crate::stage::{Crossing, DEADLINE, EXPORTER, IMPORTER, SECOND_IMPORTER, Stage, accepted};
use crate::tests::Tests;

const SERVICES: usize = 5;
/// An API server that starts may leave a request without an answer, and the agents give that up after 30 s, plus a pause. Shorter
/// than the longest pause before a key is planned again, a minute: keys do not wait for that once their API server is back.
const BACK_WITHIN: Duration = Duration::from_secs(45);

pub(crate) fn add(tests: &mut Tests) {
    if std::env::var_os(fleet_testbed::fleet::HUB_KUBECONFIG).is_some() {
        return; // API servers of existing clusters are not the suite's to stop.
    }
    tests.alone("outage::traffic_survives_the_hub", traffic_survives_the_hub);
    tests.alone("outage::both_sides_go_on_without_the_hub", both_sides_go_on_without_the_hub);
    tests.alone("outage::an_importer_catches_up", an_importer_catches_up);
    tests.alone("outage::an_exporter_catches_up", an_exporter_catches_up);
    tests.alone("outage::a_right_is_taken_and_given_back", a_right_is_taken_and_given_back);
}

async fn crossings<'a>(stage: &'a Stage, namespace: &str) -> Result<Vec<Crossing<'a>>> {
    let mut crossings = Vec::new();
    for number in 0..SERVICES {
        let (name, importers) = (format!("web-{number}"), [IMPORTER, SECOND_IMPORTER]);
        crossings.push(stage.crossing_in(namespace, &name, &importers).await?);
    }
    Ok(crossings)
}

async fn arrive(what: &str, crossings: &[Crossing<'_>]) -> Result<()> {
    let begin = Instant::now();
    try_join_all(crossings.iter().map(Crossing::arrived)).await.with_context(|| what.to_owned())?;
    promised(what, begin.elapsed(), BACK_WITHIN)
}

async fn end(stage: &Stage, namespace: &str, crossings: Vec<Crossing<'_>>) -> Result<()> {
    try_join_all(crossings.into_iter().map(Crossing::end)).await?;
    stage.nothing_left(namespace).await
}

/// Writes of an agent that failed so far.
async fn failures(agents: &Agents, agent: Agent) -> Result<f64> {
    Ok(Scrape::of(agents, agent).await?.sum("fleet_runtime_failures_total", &[]))
}

/// Waits until an agent has tried in vain several times: it has noticed.
async fn tries_in_vain(agents: &Agents, agent: Agent, before: f64) -> Result<()> {
    let what = format!("{agent:?} tries in vain");
    wait_until(&what, DEADLINE, async || Ok(failures(agents, agent).await? >= before + 15.0)).await
}

/// F24: imported slices and derived Services stay as they are; changes made meanwhile arrive afterwards.
async fn traffic_survives_the_hub(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let namespace = stage.namespace("nohub").await?;
    let mut crossings = crossings(stage, &namespace).await?;
    let mut observer = on_importers(stage, &[kinds::ENDPOINT_SLICE, kinds::SERVICE]).await?;
    let before = failures(agents, Agent::Member(EXPORTER)).await?;
    take_away(stage.hub(), false).await?;
    for crossing in &mut crossings {
        crossing.change(2).await?;
    }
    tries_in_vain(agents, Agent::Member(EXPORTER), before).await?;
    agents.check_alive()?;
    nothing_happened(&mut observer)?;
    stage.hub().start_apiserver().await?;
    arrive("the hub is back", &crossings).await?;
    nothing_went(&mut observer, &namespace)?;
    for crossing in &crossings {
        accepted(stage, crossing.key()).await?;
    }
    end(stage, &namespace, crossings).await
}

/// F24: the hub has crashed. Meanwhile users of both sides change, end and begin exports and imports; afterwards every
/// importer has exactly what it asks for of what is exported, and what no user touched was never away.
async fn both_sides_go_on_without_the_hub(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let namespace = stage.namespace("bothsides").await?;
    let both = [IMPORTER, SECOND_IMPORTER];
    let mut kept = stage.crossing_in(&namespace, "kept", &both).await?;
    let mut closed = stage.crossing_in(&namespace, "closed", &both).await?;
    let mut left = stage.crossing_in(&namespace, "left", &both).await?;
    let mut entered = stage.crossing_in(&namespace, "entered", &[SECOND_IMPORTER]).await?;
    let unused = left.derived(IMPORTER).await?;
    let mut observer = on_importers(stage, &[kinds::ENDPOINT_SLICE]).await?;

    let victims = [EXPORTER, IMPORTER].map(Agent::Member);
    let before = try_join_all(victims.map(|agent| failures(agents, agent))).await?;
    take_away(stage.hub(), true).await?;
    for crossing in [&mut kept, &mut left, &mut entered] {
        crossing.change(2).await?;
    }
    closed.close().await?;
    let made = stage.departing(&namespace, "made", &both).await?;
    left.leave(IMPORTER).await?;
    entered.enter(IMPORTER).await?;
    for (agent, before) in victims.into_iter().zip(before) {
        tries_in_vain(agents, agent, before).await?;
    }
    agents.check_alive()?;
    // An importer that is done may release its import; no other notices anything.
    let touched = observer.take().into_iter().find(|seen| {
        let labels = seen.object.metadata.labels.as_ref();
        let service = labels.and_then(|labels| labels.get(labels::SERVICE_NAME));
        seen.name().contains(&namespace) && service != Some(&unused)
    });
    ensure!(touched.is_none(), "meanwhile: {touched:?}");

    stage.hub().start_apiserver().await?;
    let crossings = [kept, left, entered, made];
    arrive("the crashed hub is back", &crossings).await?;
    for importer in both {
        let nothing = BTreeSet::new();
        wait_imported(stage.member(importer), &namespace, "closed", &nothing, DEADLINE).await?;
    }
    let kind = kinds::MULTI_CLUSTER_SERVICE;
    wait_gone(stage.importer(), kind, &namespace, "left", DEADLINE).await?;
    let slices = imported_slices(stage.importer(), &unused).await?;
    ensure!(slices.is_empty(), "still imported: {slices:?}");
    for importer in both {
        closed.leave(importer).await?;
    }
    end(stage, &namespace, crossings.into()).await
}

async fn on_importers(stage: &Stage, kinds: &[ResourceKind]) -> Result<Observer> {
    let importers = [stage.importer(), stage.member(SECOND_IMPORTER)];
    let targets =
        importers.iter().flat_map(|&cluster| kinds.iter().map(move |&kind| (cluster, kind)));
    Observer::start_for(targets).await
}

/// What was imported has changed in place: traffic was never without endpoints.
fn nothing_went(observer: &mut Observer, namespace: &str) -> Result<()> {
    let gone = observer.take_gone(namespace).into_iter().next();
    gone.map_or(Ok(()), |gone| bail!("it went and came: {gone}"))
}

/// Not one write.
fn nothing_happened(observer: &mut Observer) -> Result<()> {
    let seen: Vec<String> = observer.take().iter().map(ToString::to_string).collect();
    ensure!(seen.is_empty(), "meanwhile:\n{}", seen.join("\n"));
    Ok(())
}

/// Ends the API server as an update does, or as a crash.
async fn take_away(cluster: &Cluster, kill: bool) -> Result<()> {
    if kill { cluster.kill_apiserver().await } else { cluster.stop_apiserver().await }
}

async fn an_importer_catches_up(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let namespace = stage.namespace("noimp").await?;
    let mut crossings = crossings(stage, &namespace).await?;
    let before = failures(agents, Agent::Member(IMPORTER)).await?;
    take_away(stage.importer(), true).await?;
    for crossing in &mut crossings {
        crossing.change(2).await?;
    }
    tries_in_vain(agents, Agent::Member(IMPORTER), before).await?;
    // The other importer does not notice.
    let other = stage.member(SECOND_IMPORTER);
    for crossing in &crossings {
        let (namespace, name) = crossing.key();
        let wanted = &crossing.addresses;
        wait_imported(other, namespace, name, wanted, DEADLINE).await?;
    }
    agents.check_alive()?;
    stage.importer().start_apiserver().await?;
    arrive("the importer is back", &crossings).await?;
    end(stage, &namespace, crossings).await
}

/// Its own cluster is away: what it has exported stays with the importers.
async fn an_exporter_catches_up(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let namespace = stage.namespace("noexp").await?;
    let mut crossings = crossings(stage, &namespace).await?;
    let mut observer = Observer::start_for([
        (stage.hub(), kinds::ENDPOINT_SLICE_EXPORT),
        (stage.importer(), kinds::ENDPOINT_SLICE),
    ])
    .await?;
    take_away(stage.exporter(), false).await?;
    agents.check_alive()?;
    stage.exporter().start_apiserver().await?;
    for crossing in &mut crossings {
        crossing.change(2).await?;
    }
    arrive("the exporter is back", &crossings).await?;
    nothing_went(&mut observer, &namespace)?;
    end(stage, &namespace, crossings).await
}

/// The importer's agent may not write slices for a while. What is imported stays, and follows as soon as it may again.
async fn a_right_is_taken_and_given_back(stage: &Stage, agents: &mut Agents) -> Result<()> {
    let namespace = stage.namespace("norights").await?;
    let mut crossings = crossings(stage, &namespace).await?;
    let importer = stage.importer();
    let mut observer = Observer::start_for([(importer, kinds::ENDPOINT_SLICE)]).await?;
    let before = failures(agents, Agent::Member(IMPORTER)).await?;
    let bindings: Api<RoleBinding> = Api::namespaced(importer.client(), SYSTEM_NAMESPACE);
    bindings.delete("member-agent", &DeleteParams::default()).await?;
    for crossing in &mut crossings {
        crossing.change(2).await?;
    }
    tries_in_vain(agents, Agent::Member(IMPORTER), before).await?;
    agents.check_alive()?;
    nothing_happened(&mut observer)?;
    rbac::member_agent().apply(&importer.client()).await?;
    arrive("the right is back", &crossings).await?;
    nothing_went(&mut observer, &namespace)?;
    end(stage, &namespace, crossings).await
}
