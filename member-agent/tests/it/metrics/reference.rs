//! What the agents register, as a table.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use fleet_accumulator::{
    Accumulator, Config, Register, Snapshot, SourceInfo, SourceSet, SourceSpec,
};
use fleet_model::multicluster::mode::Mode;
use fleet_runtime::clients::Credential;
use fleet_runtime::clock::Clock;
use fleet_runtime::metrics::{LeaseMetrics, Series, SnapshotMetrics};
use hub_agent::member_leases::MemberLeases;
use hub_agent::snapshot::HubSnapshot;
use member_agent::metrics::{
    ExportMetrics, ImportMetrics, ReachMetrics, SliceMetrics, StandardImportMetrics,
    VirtualNodeMetrics, insecure_link, lease_renew_failures, lease_renewals, token_renewals,
};
use member_agent::snapshot::MemberSnapshot;
use member_agent::traffic_memory::TrafficMemory;
use member_agent::{Multicluster, MulticlusterMode, Settings, VirtualNodes};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::catalogue::{Catalogue, Entry};

/// What the runtime registers for any agent.
fn runtime<S: Snapshot>(catalogue: &Catalogue, agent: &str) -> Accumulator<S> {
    Series::register(catalogue, agent, "1").unwrap();
    LeaseMetrics::register(catalogue).unwrap();
    let (token, tasks) = (CancellationToken::new(), TaskTracker::new());
    let feeds = |source: &SourceInfo| -> SourceSpec { panic!("{} is not watched", source.field) };
    let none = SourceSet::EMPTY;
    let accumulator = Accumulator::start(&Config::default(), none, &feeds, &token, &tasks);
    accumulator.register_metrics(catalogue).unwrap();
    accumulator
}

/// All metrics of the hub agent. To be called in a runtime, for the accumulator's tasks.
pub(crate) fn hub() -> Vec<Entry> {
    let catalogue = Catalogue::default();
    let accumulator = runtime::<HubSnapshot>(&catalogue, "hub-agent");
    let settings = hub_agent::Settings {
        multicluster: Mode::On,
        virtual_nodes: true,
        traffic: true,
        ..Default::default()
    };
    let gauges = hub_agent::app::gauges(settings);
    let gauges = SnapshotMetrics::new(accumulator.clone(), Clock::system(), gauges);
    catalogue.add(gauges.unwrap()).unwrap();
    let leases = hub_agent::app::lease_gauges(MemberLeases::new(Duration::from_mins(1)));
    catalogue.add(SnapshotMetrics::new(accumulator, Clock::system(), leases).unwrap()).unwrap();
    catalogue.entries()
}

/// All metrics of the member agent; likewise.
pub(crate) fn member() -> Vec<Entry> {
    let catalogue = Catalogue::default();
    let accumulator = runtime::<MemberSnapshot>(&catalogue, "member-agent");
    insecure_link(&catalogue).unwrap();
    ExportMetrics::register(&catalogue).unwrap();
    ImportMetrics::register(&catalogue, "b").unwrap();
    SliceMetrics::register(&catalogue, 100).unwrap();
    StandardImportMetrics::register(&catalogue).unwrap();
    let multicluster = Multicluster { mode: MulticlusterMode::On, ..Multicluster::default() };
    let virtual_nodes = VirtualNodes { origin: true, executor: true, ..VirtualNodes::default() };
    let settings =
        Settings { external_workloads: true, multicluster, virtual_nodes, ..Settings::new("b") };
    VirtualNodeMetrics::register(&catalogue).unwrap();
    ReachMetrics::register(&catalogue).unwrap();
    lease_renew_failures(&catalogue).unwrap();
    token_renewals(&catalogue).unwrap();
    lease_renewals(&catalogue).unwrap();
    let gauges = member_agent::app::gauges(settings, Credential::default());
    let gauges = SnapshotMetrics::new(accumulator.clone(), Clock::system(), gauges);
    catalogue.add(gauges.unwrap()).unwrap();
    let gauges = member_agent::app::traffic_gauges(TrafficMemory::default());
    catalogue.add(SnapshotMetrics::new(accumulator, Clock::system(), gauges).unwrap()).unwrap();
    catalogue.entries()
}

/// The unit that a name ends in.
fn unit(name: &str) -> &'static str {
    let name = name.trim_end_matches("_total");
    let known = [("_milliseconds", "ms"), ("_seconds", "s"), ("_bytes", "bytes")];
    known.into_iter().find(|(end, _)| name.ends_with(end)).map(|(_, unit)| unit).unwrap_or_default()
}

fn table<'a>(title: &str, entries: impl Iterator<Item = &'a Entry>, document: &mut String) {
    write!(document, "\n## {title}\n\n| metric | type | labels | unit | buckets | meaning |\n")
        .unwrap();
    document.push_str("|---|---|---|---|---|---|\n");
    for Entry { name, kind, labels, buckets, help } in entries {
        let labels: Vec<_> = labels.iter().map(|label| format!("`{label}`")).collect();
        let buckets: Vec<_> = buckets.iter().map(ToString::to_string).collect();
        let (labels, buckets) = (labels.join(", "), buckets.join(" "));
        let (unit, help) = (unit(name), help.replace('|', "\\|"));
        writeln!(document, "| `{name}` | {kind} | {labels} | {unit} | {buckets} | {help} |")
            .unwrap();
    }
}

fn document() -> String {
    let (hub, member) = (hub(), member());
    let mut document = "# Metrics\n\nGenerated from what the agents register; see \
        `member-agent/tests/it/metrics/reference.rs`. `/metrics` serves them in Prometheus' text \
        format. A labelled metric has no series before something happened. Labels take their values \
        from closed sets; names of clusters are the only names among them.\n"
        .to_owned();
    table("Both agents", hub.iter().filter(|entry| member.contains(entry)), &mut document);
    table("hub-agent", hub.iter().filter(|entry| !member.contains(entry)), &mut document);
    table("member-agent", member.iter().filter(|entry| !hub.contains(entry)), &mut document);
    document
}

/// `WRITE_METRICS=1 cargo test -p member-agent --test it metrics` writes the file.
#[tokio::test]
async fn the_table_of_metrics_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/metrics.md");
    let wanted = document();
    assert!(!wanted.contains("unknown"), "a metric without a type:\n{wanted}");
    if std::env::var_os("WRITE_METRICS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let how = "WRITE_METRICS=1 cargo test -p member-agent --test it metrics";
    assert!(found == wanted, "docs/metrics.md is stale; run: {how}");
}

/// Names contain the type and the unit, as Prometheus' conventions have it; the original's are as they are.
#[tokio::test]
async fn names_follow_the_conventions() {
    for entry in [hub(), member()].concat() {
        let ours = entry.name.starts_with("fleet_");
        assert_eq!(
            ours && entry.kind == "counter",
            ours && entry.name.ends_with("_total"),
            "{entry:?}"
        );
        assert!(entry.kind != "histogram" || !entry.buckets.is_empty(), "{entry:?}");
        assert!(!entry.help.is_empty(), "{entry:?}");
    }
}
