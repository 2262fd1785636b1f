//! The page.

use std::fmt::Write as _;

use super::Report;
use super::plot::PLOTS;
use crate::cold_start::bytes_per_object;
use crate::growth::{Point, count, exponent, mib};
use crate::load::Step;

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
    What a hub carries and how the costs grow, as the last `make soak` has seen it; the page and the plots are written \
    by it. The hub is real (etcd, kube-apiserver, the hub agent as a process). The members are played by one process: \
    it runs the member agent's own library once per member, with credentials of its own, between the hub and a cluster \
    in memory. All of it shares one machine, so latencies and rates are those of a crowded one; counts, CPU per change \
    and memory are not touched by that.\n";

/// All of it.
pub(super) fn page(report: &Report) -> String {
    let mut page = HEAD.to_owned();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let profile = if cfg!(debug_assertions) { "debug build" } else { "release build" };
    let _ = writeln!(page, "\n{cores} cores, {profile}, version {}.", env!("CARGO_PKG_VERSION"));
    solo(report, &mut page);
    growth(report, &mut page);
    wire(report, &mut page);
    load(report, &mut page);
    cold_starts(report, &mut page);
    where_one_hub_ends(report, &mut page);
    page
}

fn met(is: bool) -> &'static str {
    if is { "met" } else { "**missed**" }
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
        let _ = write!(
            page,
            "| {agent}: start to ready | {ready:.2} s | | |\n\
             | {agent} at rest: share of a core | {rest:.2} % | {REST_LIMIT} | {} |\n",
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
         API server, CPU ms/change | writes on the hub/change | hub agent, MiB | hub agent at rest, % of a core |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    for point in &report.growth {
        let _ = writeln!(
            page,
            "| {} | {} | {:.1} | {:.1} | {:.2} | {:.2} | {:.2} | {:.2} | {:.0} | {:.2} |",
            point.members,
            point.services,
            point.p50_ms,
            point.p99_ms,
            point.hub_agent_ms,
            point.member_agents_ms,
            point.servers_ms,
            point.writes,
            mib(point.hub_agent_rss),
            point.rest_percent,
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

fn fit(points: &[Point], of: fn(&Point) -> f64) -> f64 {
    let points: Vec<_> = points.iter().map(|point| (count(point.members), of(point))).collect();
    exponent(&points)
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
        let spent = step.spent;
        let cores = |cpu: f64| cpu / spent.seconds;
        let _ = writeln!(
            page,
            "| {:.0} | {:.0} | {:.0} | {:.2} | {:.2} | {:.2} | {} |",
            step.rate,
            step.p50_ms,
            step.p99_ms,
            cores(spent.hub_agent),
            cores(spent.servers),
            cores(spent.crowd),
            if step.sustained { "sustained" } else { "too much" },
        );
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

fn best(steps: &[Step]) -> Option<&Step> {
    steps.iter().rfind(|step| step.sustained)
}

/// Who takes most of the machine.
fn largest(step: &Step) -> String {
    let spent = step.spent;
    let mut all = [
        (spent.hub_agent, "the hub agent"),
        (spent.servers, "the API server with its store"),
        (spent.crowd, "the process that plays the members"),
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

/// From the numbers above to a fleet of 1 000 members, 2 000 Services and 100 000 endpoints.
fn where_one_hub_ends(report: &Report, page: &mut String) {
    const MEMBERS: f64 = 1000.0;
    const SERVICES: f64 = 2000.0;
    const SLICES: f64 = 10_000.0;
    const IMPORTERS: f64 = 3.0;
    const HEARTBEAT: f64 = 60.0;
    let (Some(point), Some(start), Some(best)) =
        (report.growth.last(), report.cold_starts.last(), best(&report.load))
    else {
        return;
    };
    let objects = SLICES * (2.0 + IMPORTERS) + SERVICES * (1.0 + IMPORTERS) + 2.0 * MEMBERS;
    let each = bytes_per_object(start, report.empty_rss);
    let memory = mib(report.empty_rss) + objects * each / 1024.0 / 1024.0;
    let writes = 1.0 + IMPORTERS;
    let per_write = point.servers_ms / point.writes;
    let agent = point.hub_agent_ms * (1.0 + IMPORTERS) / 2.0;
    let servers = per_write * writes;
    let first =
        if servers > agent { (servers, "the API server") } else { (agent, "the hub agent") };
    let _ = write!(
        page,
        "\n## Where one hub ends\n\n1 000 members, 2 000 Services, 100 000 endpoints in 10 000 slices of ten, three importers each:\n\n\
         - **Memory of the hub agent.** Objects: 10 000 exported slices and as many exports, 30 000 copies, 2 000 Services with three \
         importers each, 1 000 members with a namespace: {objects:.0}. × {each:.0} bytes + {:.0} MiB = {memory:.0} MiB. It does not end \
         there: a node of 1 GiB holds {:.1} million objects.\n\
         - **Writes of the API server.** A change is {writes} writes. One costs {per_write:.2} ms of CPU of API server and store \
         ({:.2} ms ÷ {:.2} writes above), so a core of them carries {:.0} changes a second. Heartbeats are {:.0} writes a second, \
         {:.1} % of a core.\n\
         - **CPU of the hub agent.** {:.2} ms per change with one importer, about {agent:.2} ms with three: a core carries {:.0} changes a \
         second, {:.1} times what a core of the API server does.\n\
         - **Fan-out of watches.** A member watches five kinds in its own namespace: 5 000 watches on the hub, of which a change reaches \
         one per importer, the exporter and the hub agent. The API server's CPU per change above goes with members^{:.2}.\n\n\
         So **{} is the first limit**: {:.0} changes a second per core of it with three importers. 100 000 \
         endpoints that change once an hour each are {:.0} a second. This machine, which runs everything on its few cores, carries {:.0} with one \
         importer.\n",
        mib(report.empty_rss),
        1024.0 * 1024.0 * 1024.0 / each / 1e6,
        point.servers_ms,
        point.writes,
        1000.0 / servers,
        MEMBERS / HEARTBEAT,
        MEMBERS / HEARTBEAT * per_write / 10.0,
        point.hub_agent_ms,
        1000.0 / agent,
        servers / agent,
        fit(&report.growth, |point| point.servers_ms),
        first.1,
        1000.0 / first.0,
        100_000.0 / 3600.0,
        best.rate,
    );
    checked(report, page);
}

/// What the arithmetic makes of a smaller fleet's start, beside what was measured in the larger one.
fn checked(report: &Report, page: &mut String) {
    let [small, .., large] = &report.cold_starts[..] else { return };
    let each = bytes_per_object(small, report.empty_rss);
    let _ = writeln!(
        page,
        "\nChecked: with the {each:.0} bytes of the start among {} objects, that among {} would have {:.0} MiB; it has {:.0}.",
        small.count(),
        large.count(),
        mib(report.empty_rss) + count(large.count()) * each / 1024.0 / 1024.0,
        mib(large.steady_rss),
    );
}
