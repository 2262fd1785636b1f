//! The page.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::figures::{Report, cells, fit, met};
use super::limit;
use super::plot::PLOTS;
use super::standard;
use crate::cold_start::bytes_per_object;
use crate::growth::mib;
use crate::load::{Step, best};

/// What is asked for.
const PEAK_LIMIT: f64 = 300.0;
const STEADY_LIMIT: f64 = 200.0;
/// With so many Services and no more.
const HALF: usize = 500;
const HALF_LIMIT: f64 = 150.0;
const LIST_LIMIT: f64 = 2.0;
const MEMBER_LIMIT: f64 = 40.0;
const REST_LIMIT: f64 = 0.2;
const CPU_LIMIT: f64 = 0.1;

const HEAD: &str = "# Scale\n\n\
    What a hub carries and how the costs grow, as the last `make soak-scale` has seen it; the page and the plots are written \
    by it. The hub is real (etcd, kube-apiserver, the hub agent as a process). The members are played by one process: \
    it runs the member agent's own library once per member, with credentials of its own, between the hub and a cluster \
    in memory. All of it shares one machine, so latencies and rates are those of a crowded one; counts, CPU per change \
    and memory are not touched by that.\n";

/// All of it.
pub(super) fn page(report: &Report) -> String {
    let mut page = HEAD.to_owned();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let profile = if cfg!(debug_assertions) { "debug build" } else { "release build" };
    let version = env!("CARGO_PKG_VERSION");
    let _ = writeln!(page, "\n{cores} cores, {profile}, version {version}{}.", commits(report));
    solo(report, &mut page);
    growth(report, &mut page);
    wire(report, &mut page);
    load(report, &mut page);
    cold_starts(report, &mut page);
    limit::where_one_hub_ends(report, &mut page);
    if let Some(found) = &report.standard {
        standard::section(found, &mut page);
    }
    page
}

/// One commit, or that of each part where they differ.
fn commits(report: &Report) -> String {
    let distinct: BTreeSet<&String> = report.commits.values().collect();
    match distinct.first() {
        None => String::new(),
        Some(commit) if distinct.len() == 1 => format!(", commit {commit}"),
        Some(_) => {
            let each = report.commits.iter().map(|(part, commit)| format!("{part} at {commit}"));
            format!(", {}", each.collect::<Vec<_>>().join(", "))
        }
    }
}

fn solo(report: &Report, page: &mut String) {
    let Some(solo) = &report.solo else { return };
    let _ = write!(
        page,
        "\n## One member, and rest\n\n| | | limit | |\n|---|---|---|---|\n\
         | member agent among {} EndpointSlices, {} exported: peak RSS | {:.0} MiB | {MEMBER_LIMIT} | {} |\n\
         | the same, steady | {:.0} MiB | | |\n",
        solo.slices,
        solo.exported,
        mib(solo.peak_rss),
        met(mib(solo.peak_rss) <= MEMBER_LIMIT),
        mib(solo.rss),
    );
    for (at, agent) in ["hub agent", "member agent"].into_iter().enumerate() {
        let (rest, ready) = (solo.rest_percent[at], solo.ready_seconds[at]);
        let image = solo.image_bytes[at]
            .map_or_else(|| "not built".to_owned(), |bytes| format!("{:.1} MiB", mib(bytes)));
        let _ = write!(
            page,
            "| {agent}: program / image | {:.1} MiB / {image} | | |\n\
             | {agent}: start to ready | {ready:.2} s | | |\n\
             | {agent} at rest: share of a core | {rest:.2} % | {REST_LIMIT} | {} |\n",
            mib(solo.program_bytes[at]),
            met(rest <= REST_LIMIT),
        );
    }
    let _ = writeln!(
        page,
        "| requests of both at rest, watches and heartbeats included | {:.0} a minute | | |",
        solo.requests_per_minute
    );
}

fn growth(report: &Report, page: &mut String) {
    if report.growth.is_empty() {
        return;
    }
    page.push_str(
        "\n## Growth\n\nEach member exports ten Services of ten endpoints to one other. 50 endpoint changes a second, all \
         over the fleet; what the fleet needs at rest is subtracted from the CPU times.\n\n\
         | members | Services | p50 ms | p99 ms | hub agent, CPU ms/change | member agents, CPU ms/change | \
         API server, CPU ms/change | writes on the hub/change | hub agent, MiB | API server, MiB | \
         hub agent at rest, % of a core | API server at rest, % of a core |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for point in &report.growth {
        let _ = writeln!(
            page,
            "| {} | {} | {:.1} | {:.1} | {:.2} | {:.2} | {:.2} | {:.2} | {:.0} | {:.0} | {:.2} | {:.1} |",
            point.members,
            point.services,
            point.p50_ms,
            point.p99_ms,
            point.hub_agent_ms,
            point.member_agents_ms,
            point.servers_ms,
            point.writes,
            mib(point.hub_agent_rss),
            mib(point.servers_rss),
            point.rest_percent,
            point.servers_rest_percent,
        );
    }
    if report.growth.len() < 2 {
        return;
    }
    page.push_str("\nExponents e of members^e, fitted:");
    for (at, (_, title, of)) in PLOTS.into_iter().enumerate() {
        let fitted = fit(&report.growth, of);
        let comma = if at == 0 { "" } else { ";" };
        let _ = write!(page, "{comma} {} {fitted:.2}", title.to_lowercase());
    }
    let hub = fit(&report.growth, |point| point.hub_agent_ms);
    let _ = writeln!(
        page,
        ". CPU of the hub agent per change is to be flat (at most {CPU_LIMIT}): {}.\n",
        met(hub <= CPU_LIMIT)
    );
    for (name, title, _) in PLOTS {
        let _ = writeln!(page, "![{title}]({name})");
    }
}

fn wire(report: &Report, page: &mut String) {
    let Some(wire) = &report.wire else { return };
    let _ = write!(
        page,
        "\n## On the wire\n\nOne endpoint of a Service of {} changes: {:.2} writes on the hub (one slice exported, one \
         copied: {}), {:.1} kB of requests, {:.1} kB of watch events.\n",
        wire.endpoints,
        wire.writes,
        met(wire.writes < 2.05),
        wire.written / 1e3,
        wire.watched / 1e3,
    );
}

fn load(report: &Report, page: &mut String) {
    if report.load.is_empty() {
        return;
    }
    let members = report.growth.last().map_or(0, |point| point.members);
    let _ = write!(
        page,
        "\n## {members} members at once\n\nEndpoint changes a second, each to one importer, until p99 passes 1 s. Cores are CPU time \
         over time.\n\n| changes/s | p50 ms | p99 ms | hub agent, cores | API server, cores | members and load, cores | |\n\
         |---|---|---|---|---|---|---|\n"
    );
    for step in &report.load {
        let _ = writeln!(page, "| {:.0} | {}", step.rate, cells(step));
    }
    if let (Some(best), Some(last)) = (best(&report.load), report.load.last()) {
        let _ = writeln!(
            page,
            "\nSustained: **{:.0} changes a second**. The limit is {}.",
            best.rate,
            largest(last)
        );
    }
}

/// Who takes most of the machine.
fn largest(step: &Step) -> String {
    let spent = step.spent;
    let mut all = [
        (spent.hub_agent, "the hub agent"),
        (spent.servers, "the API server with its store"),
        (spent.members, "the process that plays the members"),
    ];
    all.sort_by(|one, other| other.0.total_cmp(&one.0));
    let sum: f64 = all.iter().map(|(cpu, _)| cpu).sum();
    let share = |(cpu, who): (f64, &str)| format!("{who} ({:.0} %)", cpu / sum * 100.0);
    format!(
        "the machine: {:.2} cores are at work, of which {}",
        sum / spent.seconds,
        all.map(share).join(", ")
    )
}

fn cold_starts(report: &Report, page: &mut String) {
    if report.cold_starts.is_empty() {
        return;
    }
    let _ = write!(
        page,
        "\n## Cold start\n\nA hub agent starts in a fleet of 100 members that is at rest. Each Service has 20 exporters and 3 \
         importers. The bare list reads the same objects page by page and looks at nothing. An agent of an empty fleet \
         has {:.0} MiB.\n\n| Services | objects | bare list s | ready s | converged s | × list | writes | peak MiB | steady MiB | \
         bytes/object | |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
        mib(report.empty_rss),
    );
    for start in &report.cold_starts {
        let ratio = start.converged_seconds / start.list_seconds;
        let (peak, steady) = (mib(start.peak_rss), mib(start.steady_rss));
        let memory = if start.services > HALF {
            peak <= PEAK_LIMIT && steady <= STEADY_LIMIT
        } else {
            peak <= HALF_LIMIT
        };
        let met = met(memory && ratio <= LIST_LIMIT && start.writes == 0.0);
        let _ = writeln!(
            page,
            "| {} | {} | {:.1} | {:.1} | {:.1} | {ratio:.2} | {} | {peak:.0} | {steady:.0} | {:.0} | {met} |",
            start.services,
            start.count(),
            start.list_seconds,
            start.ready_seconds,
            start.converged_seconds,
            start.writes,
            bytes_per_object(start, report.empty_rss),
        );
    }
    if let Some(start) = report.cold_starts.last() {
        let kinds: Vec<String> =
            start.objects.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let _ = writeln!(
            page,
            "\nIn the last one: {}. Limits: {LIST_LIMIT} × the list, no write; {PEAK_LIMIT} MiB at the peak and {STEADY_LIMIT} after it, \
             {HALF_LIMIT} with at most {HALF} Services.",
            kinds.join(", ")
        );
    }
}
