//! Where one hub ends: from what was measured to a fleet ten times as large, with the arithmetic, and what that fleet
//! showed when it was played.

use std::fmt::Write as _;

use super::figures::{Report, fit};
use crate::cold_start::{ColdStart, IMPORTERS, bytes_per_object};
use crate::growth::{Point, count, mib};
use crate::large_fleet::{ALL_ENDPOINTS, EXPORTERS, LargeFleet, MEMBERS, SERVICES, SLICES};
use crate::load::best;

/// How often each endpoint is taken to change, in seconds.
const LIFE_OF_ENDPOINT: f64 = 3600.0;

/// What the fleet should cost.
struct Predicted {
    objects: f64,
    bytes_per_object: f64,
    hub_agent_mib: f64,
    /// Writes on the hub per change.
    writes: f64,
    /// CPU milliseconds per change.
    hub_agent_ms: f64,
    servers_ms: f64,
    /// Of a core.
    servers_rest_percent: f64,
    servers_mib: f64,
}

impl Predicted {
    fn new(points: &[Point], start: &ColdStart, empty: u64) -> Option<Self> {
        let [.., before, last] = points else { return None };
        let importers = count(IMPORTERS);
        let objects = count(SLICES) * (2.0 + importers) + count(SERVICES) * (1.0 + importers);
        let bytes_per_object = bytes_per_object(start, empty);
        let writes = 1.0 + importers;
        let larger = count(MEMBERS) / count(last.members);
        let per_change =
            |of: fn(&Point) -> f64| of(last) / last.writes * writes * larger.powf(fit(points, of));
        let on_the_line = |of: fn(&Point) -> f64| {
            let members = |point: &Point| count(point.members);
            let slope = (of(last) - of(before)) / (members(last) - members(before));
            of(last) + slope * (count(MEMBERS) - members(last))
        };
        Some(Self {
            objects,
            bytes_per_object,
            hub_agent_mib: mib(empty) + objects * bytes_per_object / f64::from(1 << 20),
            writes,
            hub_agent_ms: per_change(|point| point.hub_agent_ms),
            servers_ms: per_change(|point| point.servers_ms),
            servers_rest_percent: on_the_line(|point| point.servers_rest_percent),
            servers_mib: on_the_line(|point| mib(point.servers_rss)),
        })
    }
}

pub(super) fn where_one_hub_ends(report: &Report, page: &mut String) {
    let (Some(last), Some(start)) = (report.growth.last(), report.cold_starts.last()) else {
        return;
    };
    let Some(predicted) = Predicted::new(&report.growth, start, report.empty_rss) else { return };
    let _ = write!(
        page,
        "\n## Where one hub ends\n\n{MEMBERS} members, {SERVICES} Services with {EXPORTERS} exporters and {IMPORTERS} importers each, \
         {ALL_ENDPOINTS} endpoints in {SLICES} slices. From the tables above, where e is the fitted exponent:\n\n"
    );
    arithmetic(&predicted, report, last, page);
    first_limit(&predicted, report, page);
    if let Some(large_fleet) = &report.large_fleet {
        played(&predicted, large_fleet, page);
    }
}

fn arithmetic(predicted: &Predicted, report: &Report, last: &Point, page: &mut String) {
    let (members, writes) = (last.members, predicted.writes);
    let exponent = |of: fn(&Point) -> f64| fit(&report.growth, of);
    let _ = write!(
        page,
        "- **Memory of the hub agent.** {SLICES} slices with an export each and {IMPORTERS} copies, {SERVICES} Services with {IMPORTERS} \
         imports each: {:.0} objects. × {:.0} bytes + {:.0} MiB = **{:.0} MiB**. A pod of 1 GiB holds {:.1} million objects.\n\
         - **CPU of the hub agent.** {:.2} ms ÷ {:.2} writes × {writes} writes × ({MEMBERS} ÷ {members})^{:.2} = **{:.2} ms a change**: a core \
         carries {:.0} changes a second.\n\
         - **CPU of the API server and its store.** {:.2} ms ÷ {:.2} writes × {writes} writes × ({MEMBERS} ÷ {members})^{:.2} = **{:.1} ms a \
         change**: a core carries {:.0} changes a second.\n\
         - **Fan-out of watches.** A member watches five kinds in its own namespace: {} watches. A change reaches one of each importer, \
         one of the exporter and those of the hub agent, however many members there are; what the others cost is in the CPU of the API server at rest, \
         with the heartbeats: on the line through the last two sizes **{:.0} % of a core**, and {:.0} MiB.\n",
        predicted.objects,
        predicted.bytes_per_object,
        mib(report.empty_rss),
        predicted.hub_agent_mib,
        f64::from(1 << 30) / predicted.bytes_per_object / 1e6,
        last.hub_agent_ms,
        last.writes,
        exponent(|point| point.hub_agent_ms),
        predicted.hub_agent_ms,
        1e3 / predicted.hub_agent_ms,
        last.servers_ms,
        last.writes,
        exponent(|point| point.servers_ms),
        predicted.servers_ms,
        1e3 / predicted.servers_ms,
        5 * MEMBERS,
        predicted.servers_rest_percent,
        predicted.servers_mib,
    );
}

fn first_limit(predicted: &Predicted, report: &Report, page: &mut String) {
    let (servers, agent) = (predicted.servers_ms, predicted.hub_agent_ms);
    let (first, ratio) = if servers > agent {
        ("the CPU of the API server", servers / agent)
    } else {
        ("the CPU of the hub agent", agent / servers)
    };
    let rate = count(ALL_ENDPOINTS) / LIFE_OF_ENDPOINT;
    let cores = rate * servers / 1e3 + predicted.servers_rest_percent / 100.0;
    let _ = write!(
        page,
        "\nSo **{first} is the first limit**, {ratio:.0} times earlier than that of the other. If each endpoint changes once an hour, there are \
         {rate:.0} changes a second: {cores:.1} cores of the API server with its store, {:.2} of the hub agent.",
        rate * agent / 1e3
    );
    if let Some(best) = best(&report.load) {
        let _ = write!(
            page,
            " This machine, which runs everything on its few cores, carries {:.0} changes a second with one importer each.",
            best.rate
        );
    }
    page.push('\n');
}

fn played(predicted: &Predicted, large_fleet: &LargeFleet, page: &mut String) {
    let LargeFleet { start, point } = large_fleet;
    let _ = write!(
        page,
        "\nChecked: that very fleet, played on this machine. The hub agent started in it was ready after {:.1} s and had nothing left to do after {:.1} s, with {} \
         writes; the bare list took {:.1} s. A change arrived after {:.0} ms (p50; p99 {:.0} ms).\n\n\
         | | predicted | played | ratio |\n|---|---|---|---|\n",
        start.ready_seconds,
        start.converged_seconds,
        start.writes,
        start.list_seconds,
        point.p50_ms,
        point.p99_ms,
    );
    let rows = [
        ("objects", predicted.objects, count(start.count()), 0),
        ("memory of the hub agent, MiB", predicted.hub_agent_mib, mib(start.steady_rss), 0),
        ("writes per change", predicted.writes, point.writes, 2),
        ("hub agent, CPU ms per change", predicted.hub_agent_ms, point.hub_agent_ms, 2),
        ("API server, CPU ms per change", predicted.servers_ms, point.servers_ms, 1),
        (
            "API server at rest, % of a core",
            predicted.servers_rest_percent,
            point.servers_rest_percent,
            0,
        ),
        ("API server, MiB", predicted.servers_mib, mib(point.servers_rss), 0),
    ];
    for (what, predicted, played, digits) in rows {
        let ratio = played / predicted;
        let _ =
            writeln!(page, "| {what} | {predicted:.digits$} | {played:.digits$} | {ratio:.2} |");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(members: usize) -> Point {
        Point {
            members,
            services: members * 10,
            p50_ms: 10.0,
            p99_ms: 20.0,
            hub_agent_ms: 1.0,
            member_agents_ms: 2.0,
            servers_ms: 10.0,
            writes: 2.0,
            hub_agent_rss: 30 << 20,
            rest_percent: 0.0,
            servers_rest_percent: 1.0 + count(members) / 10.0,
            servers_rss: (100 + u64::try_from(members).unwrap()) << 20,
        }
    }

    fn start() -> ColdStart {
        ColdStart {
            services: 1000,
            objects: vec![("serviceimports".to_owned(), 1 << 10)],
            list_seconds: 1.0,
            ready_seconds: 1.0,
            converged_seconds: 1.0,
            writes: 0.0,
            peak_rss: 11 << 20,
            steady_rss: 11 << 20,
        }
    }

    #[test]
    fn a_level_cost_stays_and_a_cost_of_members_grows_with_them() {
        let predicted =
            Predicted::new(&[point(1), point(10), point(100)], &start(), 10 << 20).unwrap();
        let close =
            |is: f64, expected: f64| assert!((is - expected).abs() < 1e-6, "{is} {expected}");
        close(predicted.objects, 58_000.0);
        close(predicted.bytes_per_object, 1024.0);
        close(predicted.hub_agent_mib, 10.0 + 58_000.0 / 1024.0);
        // Four writes instead of two.
        close(predicted.hub_agent_ms, 2.0);
        close(predicted.servers_ms, 20.0);
        close(predicted.servers_rest_percent, 101.0);
        close(predicted.servers_mib, 1100.0);
    }

    #[test]
    fn one_size_says_nothing_of_growth() {
        assert!(Predicted::new(&[point(1)], &start(), 0).is_none());
        let mut page = String::new();
        where_one_hub_ends(&Report { growth: vec![point(100)], ..Report::default() }, &mut page);
        assert!(page.is_empty());
    }

    #[test]
    fn the_first_limit_is_named_and_the_fleet_that_was_played_is_beside_it() {
        let mut report = Report {
            empty_rss: 10 << 20,
            growth: vec![point(10), point(100)],
            cold_starts: vec![start()],
            ..Report::default()
        };
        let page = |report: &Report| {
            let mut page = String::new();
            where_one_hub_ends(report, &mut page);
            page
        };
        let text = page(&report);
        assert!(text.contains("the CPU of the API server is the first limit"), "{text}");
        assert!(!text.contains("Checked"), "{text}");
        report.large_fleet = Some(LargeFleet { start: start(), point: point(1000) });
        let text = page(&report);
        assert!(text.contains("| API server at rest, % of a core | 101 | 101 | 1.00 |"), "{text}");
    }
}
