//! From measurements to the report and its notes.

use std::time::Duration;

use anyhow::Result;
use hdrhistogram::Histogram;

use super::arrivals::{STATIONS, Station};
use super::breakdown;
use super::bulk::Round;
use super::change_path;
use super::flood::Flood;
use super::hostile::Crossings;
use super::latency::{Latency, Series};
use super::offload;
use super::policies::Comparison;
use super::reach;
use super::report::{
    self, Against, Checked, Flooded, Median, PerAgent, Percentiles, Report, WriteNumbers, rounded,
};
use super::scrape::Scrape;
use super::size::Sizes;
use super::standard::{self, Found, WriteCosts};
use super::turns::Beside;
use super::writes::Writes;
use fleet_testbed::agents::{Agent, Agents};
use fleet_testbed::fleet::Fleet;

const STATION_NAMES: [(&str, Station); STATIONS] = [
    ("user's slice", Station::Source),
    ("EndpointSliceExport", Station::Export),
    ("EndpointSliceImport", Station::Import),
    ("imported slice", Station::Target),
];

pub(super) fn latency(latency: &Latency, work: &Scrape, fleet: &Fleet, report: &mut Report) {
    report.floor_ms = Some(Median { p50: rounded(latency.floor.percentile(50.0)) });
    report.chain_ms = Some(percentiles(&latency.chain));
    report.steady_ms = latency.steady.as_ref().map(percentiles);
    report.notes.push(series_note("floor", &latency.floor));
    report.notes.push(series_note("chain", &latency.chain));
    report.notes.extend(latency.steady.as_ref().map(|steady| series_note("steady", steady)));
    let hop = |series: Option<&Series>, station| {
        let hop = |series: &Series| {
            format!("{:6.2} / {:6.2}", series.hop(station, 50.0), series.hop(station, 99.0))
        };
        series.map_or_else(String::new, hop)
    };
    report
        .notes
        .push("Hops, p50 / p99 ms, to the event of       chain             steady".to_owned());
    for (name, station) in STATION_NAMES {
        let chain = hop(Some(&latency.chain), station);
        let steady = hop(latency.steady.as_ref(), station);
        report.notes.push(format!("  {name:<32} {chain}   {steady}").trim_end().to_owned());
    }
    let slowest = [("chain", Some(&latency.chain)), ("steady", latency.steady.as_ref())];
    for (name, series) in slowest {
        let Some(series) = series else { continue };
        let hop =
            |hop: Option<f64>| hop.map_or_else(|| "?".to_owned(), |millis| format!("{millis:.1}"));
        let hops = series.slowest().map(hop).join(" ");
        report.notes.push(format!("the slowest of {name}, hops in ms: {hops}"));
    }
    if latency.steady.is_some() {
        report.notes.push(format!("agents in all turns: {work}"));
    }
    for (stage, millis, ran) in work.stages() {
        report.notes.push(format!("agents' stage {stage:<12} mean {millis:.2} ms, {ran:.0} times"));
    }
    if let Some(steady) = &latency.steady {
        let times = |series: &Series| breakdown::Times {
            p50: series.percentile(50.0),
            p99: series.percentile(99.0),
        };
        report.notes.extend(breakdown::lines(work, times(&latency.floor), times(steady)));
    }
    for (agent, cpu) in &latency.cpu_per_change {
        let (name, millis) = (fleet.agent_name(*agent), cpu.as_secs_f64() * 1e3);
        report.notes.push(format!("CPU per steady change, {name}: {millis:.2} ms"));
    }
}

pub(super) fn policies(comparison: &Comparison, report: &mut Report) {
    let p50 = |series: &Series| rounded(series.percentile(50.0));
    let (without, with) = (p50(&comparison.without), p50(&comparison.with));
    report.policies_ms = Some(Checked { without, with });
    report.notes.push(series_note("steady without policies", &comparison.without));
    report.notes.push(series_note("steady with policies", &comparison.with));
}

pub(super) fn bulk(rounds: &[Round], report: &mut Report) {
    let median = |of: fn(&Round) -> Duration| {
        let times: Vec<Duration> = rounds.iter().map(of).collect();
        rounded(median(&times).as_secs_f64())
    };
    report.import100_s = Some(median(|round| round.import));
    report.burst100_s = Some(median(|round| round.burst));
    report.withdraw100_s = Some(median(|round| round.withdraw));
    let seconds = |time: Duration| format!("{:.2}", time.as_secs_f64());
    for (number, round) in rounds.iter().enumerate() {
        report.notes.push(format!(
            "round {}: import {} s, burst {} s, withdrawn {} s",
            number + 1,
            seconds(round.import),
            seconds(round.burst),
            seconds(round.withdraw),
        ));
        let stations = round.burst_stations.map(seconds).join(" ");
        report.notes.push(format!("  burst, last at each station: {stations} s"));
        let emptied = round.emptied.iter().map(|(what, at)| format!("{what} {}", seconds(*at)));
        report.notes.push(format!(
            "  none left, looked for in this order: {}",
            emptied.collect::<Vec<_>>().join(", ")
        ));
        for (what, work) in &round.work {
            report.notes.push(format!("  {what}: {work}"));
        }
    }
}

pub(super) fn sizes(sizes: &Sizes, report: &mut Report) {
    report.beside = sizes.fleets.iter().map(|beside| against(beside, &mut report.notes)).collect();
    report.disturbed =
        sizes.disturbed.iter().map(|beside| against(beside, &mut report.notes)).collect();
    report.import1000_s = Some(rounded(sizes.import.as_secs_f64()));
    report.burst1000_s = Some(rounded(sizes.burst.as_secs_f64()));
}

pub(super) fn hostile(crossings: &Crossings, report: &mut Report) {
    let p50 = |times: &[Duration]| rounded(median(times).as_secs_f64() * 1e3);
    let (without, with) = (p50(&crossings.without), p50(&crossings.with));
    report.hostile_ms = Some(Checked { without, with });
    let line = |times: &[Duration]| {
        let millis = times.iter().map(|time| time.as_millis().to_string());
        millis.collect::<Vec<_>>().join(" ")
    };
    report.notes.push(format!("Service crossings alone, in ms: {}", line(&crossings.without)));
    report.notes.push(format!("beside 14 000 stored ports: {}", line(&crossings.with)));
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort();
    times[times.len() / 2]
}

pub(super) fn flood(flood: &Flood, report: &mut Report) {
    let notes = &mut report.notes;
    let [before, during] = [&flood.before, &flood.during].map(|beside| against(beside, notes));
    report
        .notes
        .push("Hops, p50 / p99 ms, to the event of       before            during".to_owned());
    for (name, station) in STATION_NAMES {
        let hops = [&flood.before, &flood.during].map(|beside| {
            let hop = |percent| beside.steady.hop(station, percent);
            format!("{:6.2} / {:6.2}", hop(50.0), hop(99.0))
        });
        report.notes.push(format!("  {name:<32} {}", hops.join("   ")));
    }
    report.notes.extend(flood.notes.iter().cloned());
    report.flood = Some(Flooded { before, during });
}

fn against(Beside { name, chain, steady }: &Beside, notes: &mut Vec<String>) -> Against {
    notes.push(series_note(&format!("chain beside {name}"), chain));
    notes.push(series_note(&format!("steady beside {name}"), steady));
    Against { name, chain: percentiles(chain), steady: percentiles(steady) }
}

pub(super) fn usage(fleet: &Fleet, agents: &Agents, report: &mut Report) -> Result<()> {
    let mut used = Vec::new();
    for agent in
        [Agent::Hub, Agent::Member(change_path::EXPORTER), Agent::Member(change_path::IMPORTER)]
    {
        let usage = agents.usage(agent)?;
        let kibibytes = u32::try_from(usage.peak_rss_bytes / 1024)?;
        used.push((rounded(usage.cpu.as_secs_f64()), rounded(f64::from(kibibytes) / 1024.0)));
        let (cpu, rss) = used[used.len() - 1];
        let name = fleet.agent_name(agent);
        report.notes.push(format!("{name}: {cpu:.2} s CPU, peak {rss:.1} MiB"));
    }
    report.cpu_s = Some(PerAgent { hub: used[0].0, member: used[1].0 });
    // Of the two member agents the larger one.
    report.rss_mib = Some(PerAgent { hub: used[0].1, member: used[1].1.max(used[2].1) });
    Ok(())
}

pub(super) fn writes(writes: &Writes, report: &mut Report) {
    report.writes = Some(WriteNumbers {
        first: writes.export_first.max(writes.import_first),
        change: writes.change,
        unexport: writes.unexport,
        mcs_delete: writes.mcs_delete,
    });
    report.notes.push(format!(
        "writes, first: {} with the export first, {} with the import first, {} with an import that waited",
        writes.export_first, writes.import_first, writes.import_long_before
    ));
    report.notes.push(format!(
        "writes, change with two importers: {}; refused (4xx) in all operations: {}",
        writes.change_two_importers, writes.refused
    ));
    report.notes.push(format!("writes of the first export and import:\n{}", writes.first_in_full));
}

pub(super) fn standard(found: &Found, mix_rate: f64, report: &mut Report) {
    let series = [
        ("four bare hops", &found.four_hops),
        ("three bare hops", &found.three_hops),
        ("standard API", &found.steady),
    ];
    for (name, series) in series {
        report.notes.push(series_note(name, series));
        let [user, hub] = [Station::Source, Station::Export].map(|at| series.hop(at, 50.0));
        report
            .notes
            .push(format!("  p50 to the user's slice {user:.2} ms, to the hub {hub:.2} ms"));
    }
    report.notes.extend(found.costs.iter().map(cost_note));
    for round in &found.rounds {
        let [import, burst] = [round.import, round.burst].map(|time| time.as_secs_f64());
        report
            .notes
            .push(format!("100 Services exported in {import:.2} s, changed in {burst:.2} s"));
    }
    let bulk = |of: fn(&standard::Round) -> Duration| {
        let times: Vec<Duration> = found.rounds.iter().map(of).collect();
        rounded(median(&times).as_secs_f64())
    };
    report.standard = Some(report::Standard {
        four_hops_ms: percentiles(&found.four_hops),
        three_hops_ms: percentiles(&found.three_hops),
        steady_ms: percentiles(&found.steady),
        costs: found.costs.iter().map(cost).collect(),
        import100_s: bulk(|round| round.import),
        burst100_s: bulk(|round| round.burst),
        mix_rate: mix_rate.round(),
    });
}

pub(super) fn write_costs(found: WriteCosts, report: &mut Report) {
    let WriteCosts { usual, untracked, unchecked } = found;
    let with = rounded(usual.cpu_ms);
    report.managed_fields_ms = Some(Checked { without: rounded(untracked.cpu_ms), with });
    report.checked_write_ms = Some(Checked { without: rounded(unchecked.cpu_ms), with });
    report.notes.push(format!(
        "an exported slice: {} bytes with managedFields, {} without",
        usual.bytes, untracked.bytes
    ));
}

pub(super) fn offload(found: &offload::Found, report: &mut Report) {
    let tail = |times: &Histogram<u64>| {
        let at = |percentile| {
            let micros = times.value_at_percentile(percentile);
            rounded(Duration::from_micros(micros).as_secs_f64() * 1e3)
        };
        report::Tail { p50: at(50.0), p95: at(95.0) }
    };
    let at = |times: &offload::Times| report::AtDistance {
        round_trip_ms: times.round_trip.as_secs_f64() * 1e3,
        created_ms: tail(&times.created),
        ready_ms: tail(&times.ready),
        gone_ms: tail(&times.gone),
    };
    let at: Vec<_> = found.times.iter().map(at).collect();
    for (one, times) in at.iter().zip(&found.times) {
        report.notes.push(format!(
            "offload, {} ms to the hub and back, p50: created {:.1}, ready {:.1}, gone {:.1} ms; {} Pods",
            one.round_trip_ms, one.created_ms.p50, one.ready_ms.p50, one.gone_ms.p50, times.created.len(),
        ));
    }
    report.notes.push(format!("writes for one Pod beside another one:\n{}", found.writes));
    report.offload = Some(report::Offload { at, writes: found.writes.done() });
}

pub(super) fn reach(found: &reach::Found, report: &mut Report) {
    report.reach = Some(report::Reach {
        silent_cpu_percent: rounded(found.silent.percent()),
        dialling_cpu_percent: rounded(found.dialling.percent()),
        dials_per_second: rounded(found.dialling.dials_per_second()),
    });
}

fn cost(cost: &standard::Cost) -> report::Cost {
    report::Cost {
        importers: cost.importers,
        // A single write too many has to be seen.
        writes: cost.standard.writes(),
        cpu_ms: rounded(cost.standard.cpu_ms()),
        copying_cpu_ms: cost.copying.map(|copying| rounded(copying.cpu_ms())),
    }
}

fn cost_note(cost: &standard::Cost) -> String {
    let spent = |spent: standard::Spent| {
        format!("{:.2} ms CPU, {:.2} writes", spent.cpu_ms(), spent.writes())
    };
    let beside = |name: &str, other: Option<standard::Spent>| {
        other.map_or_else(String::new, |other| format!("; {name} {}", spent(other)))
    };
    let (copies, bare) =
        (beside("through copies", cost.copying), beside("a bare write", cost.bare));
    format!(
        "hub, per change with {} importers: {}{copies}{bare}",
        cost.importers,
        spent(cost.standard)
    )
}

fn percentiles(series: &Series) -> Percentiles {
    let at = |percent| rounded(series.percentile(percent));
    Percentiles { p50: at(50.0), p99: at(99.0) }
}

pub(super) fn series_note(name: &str, series: &Series) -> String {
    let at = |percentile| series.percentile(percentile);
    format!(
        "{name}: p50 {:.2}, p90 {:.2}, p99 {:.2}, max {:.2} ms; {} changes",
        at(50.0),
        at(90.0),
        at(99.0),
        at(100.0),
        series.len()
    )
}
