//! One endpoint change is one trace, from the exporting member through the hub to every importing member, as the
//! OpenTelemetry Collector's receiver gets it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy takes only #[test] functions for tests"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use fleet_api::{ResourceKind, TraceContext, annotations, kinds};
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange::{export, import, wait_imported};
use fleet_testbed::objects::api;
use fleet_testbed::otlp::{Receiver, Span};
use fleet_testbed::wait::wait_for;
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};
use fleet_testbed::{Options, Testbed};
use kube::ResourceExt as _;
use kube::api::{DynamicObject, ListParams};

const DEADLINE: Duration = Duration::from_mins(1);
const TEAM: &str = "team";
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// The exporter is member 0.
const IMPORTERS: [usize; 2] = [1, 2];

#[tokio::test(flavor = "multi_thread")]
async fn one_endpoint_change_is_one_trace_through_all_agents() {
    let testbed =
        Testbed::start(Options::members(3).with_policies().without_audit()).await.unwrap();
    let result = story(&testbed).await;
    testbed.explain(result).await.unwrap();
}

async fn story(testbed: &Testbed) -> Result<()> {
    let mut receiver = Receiver::start(testbed).await?;
    let options = AgentOptions {
        environment: vec![
            (ENDPOINT.to_owned(), receiver.endpoint()),
            // Batches go at once.
            ("OTEL_BSP_SCHEDULE_DELAY".to_owned(), "50".to_owned()),
        ],
        ..AgentOptions::default()
    };
    let mut agents = Agents::start(testbed, &options).await?;
    testbed.user_namespace(TEAM).await?;
    let service = cross(testbed).await?;
    change(testbed, &service).await?;
    let carried = contexts(testbed).await?;
    let trace = the_one_trace(&carried)?;
    let stages = wait_for("the spans of all stages", DEADLINE, async || {
        let stages = stages(receiver.spans()?, &trace);
        Ok((stages.len() > 2 * IMPORTERS.len()).then_some(stages))
    })
    .await?;
    is_whole(testbed, &stages)?;
    is_carried(&stages, &carried)?;

    // The hub neither follows what the exporter leaves, nor keeps what it wrote itself.
    switch_off(&mut agents, Agent::Hub).await?;
    change(testbed, &service).await?;
    let left = contexts(testbed).await?;
    let carrying: Vec<_> = left.iter().filter(|(_, context)| context.is_some()).collect();
    let [((kind, _), _)] = carrying[..] else { bail!("the exporter alone has traces: {left:?}") };
    ensure!(*kind == kinds::ENDPOINT_SLICE_EXPORT.kind, "{left:?}");

    switch_off(&mut agents, Agent::Member(0)).await?;
    change(testbed, &service).await?;
    let nothing = contexts(testbed).await?;
    ensure!(nothing.values().all(Option::is_none), "without traces: {nothing:?}");
    Ok(())
}

/// As if the agent had never had a receiver.
async fn switch_off(agents: &mut Agents, agent: Agent) -> Result<()> {
    agents.set_variable(agent, ENDPOINT, "")?;
    agents.restart(agent).await
}

/// A Service that crosses to both importers.
async fn cross(testbed: &Testbed) -> Result<ManualService> {
    let (exporter, address) = (testbed.member(0), next_address());
    let spec = ServiceSpec::http(TEAM, "web");
    let service = ManualService::deploy(exporter, &spec, std::slice::from_ref(&address)).await?;
    export(exporter, TEAM, "web").await?;
    for importer in IMPORTERS {
        import(testbed.member(importer), TEAM, "web", "web").await?;
    }
    arrives(testbed, address).await?;
    Ok(service)
}

/// Another address, that arrives at both importers.
async fn change(testbed: &Testbed, service: &ManualService) -> Result<()> {
    let address = next_address();
    service.set_addresses(std::slice::from_ref(&address)).await?;
    arrives(testbed, address).await
}

async fn arrives(testbed: &Testbed, address: String) -> Result<()> {
    let addresses = BTreeSet::from([address]);
    for importer in IMPORTERS {
        wait_imported(testbed.member(importer), TEAM, "web", &addresses, DEADLINE).await?;
    }
    Ok(())
}

/// The trace of which every slice on its way bears the context.
fn the_one_trace(carried: &Contexts) -> Result<String> {
    let ids: Option<BTreeSet<_>> = carried
        .values()
        .map(|text| Some(format!("{:032x}", TraceContext::parse(text.as_ref()?)?.trace_id)))
        .collect();
    let ids = ids.with_context(|| format!("a slice has no context: {carried:?}"))?;
    ensure!(ids.len() == 1, "more than one trace: {carried:?}");
    ids.into_iter().next().context("no slice")
}

/// The spans of what was written, without those of the requests below them.
fn stages(spans: Vec<Span>, trace: &str) -> Vec<Span> {
    let is_stage = |span: &Span| ["export", "distribute", "import"].contains(&&*span.name);
    let written = |span: &Span| span.attribute("fleet.outcome") == "written";
    let wanted = |span: &Span| span.trace == trace && is_stage(span) && written(span);
    spans.into_iter().filter(wanted).collect()
}

/// One export, and for each importer a distribution below it, with the import below that.
fn is_whole(testbed: &Testbed, stages: &[Span]) -> Result<()> {
    let named = |name: &str| stages.iter().filter(|span| span.name == name).collect::<Vec<_>>();
    let (exports, distributions, imports) = (named("export"), named("distribute"), named("import"));
    let [export] = exports[..] else { bail!("not one export: {stages:#?}") };
    ensure!(export.parent.is_empty(), "the trace has begun before: {export:?}");
    ensure!(export.attribute("k8s.cluster.name") == testbed.member(0).name());
    ensure!((distributions.len(), imports.len()) == (2, 2), "{stages:#?}");
    for importer in IMPORTERS {
        let member = testbed.member(importer).name();
        let to = |span: &&&Span| span.attribute("fleet.member") == member;
        let at = |span: &&&Span| span.attribute("k8s.cluster.name") == member;
        let distribution = distributions.iter().find(to).context("a distribution to each")?;
        let import = imports.iter().find(at).context("an import at each")?;
        ensure!(distribution.attribute("service.name") == "hub-agent", "{distribution:?}");
        ensure!(distribution.parent == export.id, "{stages:#?}");
        ensure!(import.parent == distribution.id, "{stages:#?}");
    }
    for span in stages {
        let service = ["k8s.namespace.name", "k8s.service.name"].map(|key| span.attribute(key));
        ensure!(service == [TEAM, "web"], "{span:?}");
        ensure!(span.attribute("fleet.slice") == export.attribute("fleet.slice"), "{span:?}");
    }
    Ok(())
}

/// Each object on the hub carries the context of the very span that wrote it.
fn is_carried(stages: &[Span], carried: &Contexts) -> Result<()> {
    let ids = |name: &str| -> BTreeSet<String> {
        stages.iter().filter(|span| span.name == name).map(|span| span.id.clone()).collect()
    };
    for (kind, stage) in
        [(kinds::ENDPOINT_SLICE_EXPORT, "export"), (kinds::ENDPOINT_SLICE_IMPORT, "distribute")]
    {
        let of_kind = carried.iter().filter(|((of, _), _)| *of == kind.kind);
        let contexts: Option<BTreeSet<_>> = of_kind
            .map(|(_, text)| TraceContext::parse(text.as_ref()?))
            .map(|context| Some(format!("{:016x}", context?.span_id)))
            .collect();
        ensure!(contexts == Some(ids(stage)), "{carried:?} {stages:#?}");
    }
    Ok(())
}

/// What the slices contain that are on their way, by kind and namespace of the hub.
type Contexts = BTreeMap<(&'static str, String), Option<String>>;

async fn contexts(testbed: &Testbed) -> Result<Contexts> {
    let mut contexts = Contexts::new();
    for kind in [kinds::ENDPOINT_SLICE_EXPORT, kinds::ENDPOINT_SLICE_IMPORT] {
        for (namespace, context) in contexts_of(testbed.hub(), kind).await? {
            contexts.insert((kind.kind, namespace), context);
        }
    }
    ensure!(contexts.len() == 1 + IMPORTERS.len(), "{contexts:?}");
    for member in testbed.members() {
        let slices = contexts_of(member, kinds::ENDPOINT_SLICE).await?;
        ensure!(slices.iter().all(|(_, context)| context.is_none()), "{slices:?}");
    }
    Ok(contexts)
}

/// Namespace and context of each object of a kind.
async fn contexts_of(
    cluster: &Cluster,
    kind: ResourceKind,
) -> Result<Vec<(String, Option<String>)>> {
    let objects = api(cluster.client(), kind, None).list(&ListParams::default()).await?;
    let context = |object: &DynamicObject| {
        let context = object.annotations().get(annotations::TRACEPARENT).cloned();
        (object.namespace().unwrap_or_default(), context)
    };
    Ok(objects.iter().map(context).collect())
}
