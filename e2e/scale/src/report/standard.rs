//! The standard API beside the copying front end.

use std::fmt::Write as _;

use super::figures::{cells, first_too_much, met};
use super::plot::RATE_PLOTS;
use crate::growth::{count, mib};
use crate::load::{Step, best};
use crate::standard::{IMPORTERS, LAST, MORE, Rates, Standard, Wide};

/// Writes on the hub per change, whatever the number of importers: that of the exporter.
const WRITES: f64 = 1.0;
/// The page has two decimals of them.
const ROUNDING: f64 = 0.005;
/// A hub that wants more than its share in this part of the periods answers late because of that: work comes in bursts, so its share need
/// not be used up on average.
const OFTEN: f64 = 0.5;
/// Of the machine.
const NEARLY_ALL: f64 = 0.9;
/// Memory of the hub agent, in MiB.
const MEMORY: f64 = 120.0;

pub(super) fn section(standard: &Standard, page: &mut String) {
    page.push_str(
        "\n## The standard API\n\nMembers that serve both front ends. An importer of the standard API reads the exporters' \
         slices on the hub; the other front end writes a copy for each.\n",
    );
    if let Some(rates) = &standard.rates {
        of_rates(rates, page);
    }
    if let Some(wide) = &standard.wide {
        of_wide(wide, page);
    }
}

fn of_rates(rates: &Rates, page: &mut String) {
    let _ = write!(
        page,
        "\n{} members, {} Services of each front end, each with {IMPORTERS} importers. Endpoint changes a second until p99 passes \
         1 s, first through copies, then through the standard API; cores are CPU time over time. {}\n\n\
         | | changes/s | p50 ms | p99 ms | hub agent, cores | API server, cores | members and load, cores | |\n\
         |---|---|---|---|---|---|---|---|\n",
        rates.members,
        rates.services,
        share(rates.hub_millicores),
    );
    for (name, steps) in [("copies", &rates.copying), ("standard", &rates.standard)] {
        for step in steps {
            row(name, step, page);
        }
    }
    let (Some(copying), Some(standard)) = (best(&rates.copying), best(&rates.standard)) else {
        let _ = writeln!(page, "\nNot each front end sustained the first rate: {}.", met(false));
        return;
    };
    let ratio = standard.rate / copying.rate;
    let _ = writeln!(
        page,
        "\nSustained: {:.1} changes a second through copies, **{:.1}** through the standard API, {ratio:.1} times as many (at least \
         {MORE}: {}).",
        copying.rate,
        standard.rate,
        met(ratio >= MORE)
    );
    for (front_end, steps) in [("copies", &rates.copying), ("the standard API", &rates.standard)] {
        if let Some(step) = first_too_much(steps) {
            let _ = writeln!(page, "\n{}", first_limit(front_end, step, rates.hub_millicores));
        }
    }
    page.push('\n');
    for (name, title, _) in RATE_PLOTS {
        let _ = writeln!(page, "![{title}]({name})");
    }
}

/// What a load that was too much has used up.
fn first_limit(front_end: &str, step: &Step, millicores: Option<u64>) -> String {
    let spent = step.spent;
    let machine = std::thread::available_parallelism().map_or(1.0, |cores| count(cores.get()));
    let of_hub = millicores.map_or(machine, cores);
    let hub = (spent.servers + spent.hub_agent) / spent.seconds;
    let all = hub + spent.members / spent.seconds;
    let is_throttled = step.throttled.is_some_and(|share| share >= OFTEN);
    let wants = step.throttled.map_or_else(String::new, |share| {
        format!(", and wants more in {:.0} % of the periods in which it runs", share * 100.0)
    });
    let first = if is_throttled {
        if spent.servers < spent.hub_agent {
            "The first limit is **the CPU of the hub agent**."
        } else {
            "The first limit is **the CPU of the hub's API server and its store**."
        }
    } else if all >= NEARLY_ALL * machine {
        "The first limit is **this machine**, which plays the members, too."
    } else {
        "Neither is used up: no limit was seen."
    };
    format!(
        "Through {front_end}, {:.1} changes a second are too much: the hub uses {hub:.2} of its {of_hub:.1} cores{wants}; all \
         together use {all:.2} of {machine:.0}. {first}",
        step.rate,
    )
}

/// Thousandths of a core as cores.
fn cores(millicores: u64) -> f64 {
    f64::from(u32::try_from(millicores).unwrap_or(u32::MAX)) / 1e3
}

fn share(millicores: Option<u64>) -> String {
    let Some(millicores) = millicores else {
        return "The hub shares the machine with the members, whose part grows with the rate."
            .to_owned();
    };
    format!(
        "The API server, its store and the hub agent together may use {:.1} of a core: with more, the machine would end before the hub, \
         which it does not where each member has a machine of its own.",
        cores(millicores)
    )
}

fn row(name: &str, step: &Step, page: &mut String) {
    let _ = writeln!(page, "| {name} | {:.1} | {}", step.rate, cells(step));
}

fn of_wide(wide: &Wide, page: &mut String) {
    let (last, memory) = (wide.slowest_ms(), mib(wide.hub_agent_peak_rss));
    let at_most = LAST.as_secs_f64() * 1e3;
    let each: Vec<String> = wide.last_ms.iter().map(|millis| format!("{millis:.0}")).collect();
    let _ = write!(
        page,
        "\n{} members import one Service of a further one. The last of them had a change of an endpoint, with the fleet at rest before, after {} ms \
         (at most {at_most:.0} each time: {}). A change took {:.2} writes on the hub (at most {WRITES}: {}). With {} changes one after the \
         other, each took {} of CPU of the hub's API server and store, which send it to each member, and {} of the hub agent, which \
         needed {memory:.0} MiB at the peak (at most {MEMORY}: {}).\n",
        wide.members,
        each.join(", "),
        met(last <= at_most),
        wide.writes,
        met(wide.writes < WRITES + ROUNDING),
        wide.in_a_row,
        above_rest(wide.servers_ms),
        above_rest(wide.hub_agent_ms),
        met(memory <= MEMORY),
    );
}

/// CPU of a change, from which the CPU at rest is subtracted: that varies, too.
fn above_rest(millis: f64) -> String {
    if millis < 0.05 { "less than rest varies by".to_owned() } else { format!("{millis:.1} ms") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Spent;

    fn step(rate: f64, sustained: bool) -> Step {
        let spent = Spent {
            seconds: 15.0,
            hub_agent: 1.0,
            servers: 10.0,
            members: 10.0,
            writes: 0.0,
            all_writes: 0.0,
            written: 0.0,
            watched: 0.0,
        };
        let throttled = Some(if sustained { 0.1 } else { 0.9 });
        Step { wanted: rate, rate, p50_ms: 10.0, p99_ms: 20.0, sustained, throttled, spent }
    }

    fn page(copying: Vec<Step>, last_ms: Vec<f64>, writes: f64) -> String {
        let standard = vec![step(100.0, true), step(150.0, false), step(120.0, true)];
        let hub_millicores = Some(500);
        let rates = Rates { members: 100, services: 200, hub_millicores, copying, standard };
        let wide = Wide {
            members: 1000,
            last_ms,
            writes,
            in_a_row: 60,
            servers_ms: 40.0,
            hub_agent_ms: 0.5,
            hub_agent_peak_rss: 121 << 20,
        };
        let mut page = String::new();
        section(&Standard { rates: Some(rates), wide: Some(wide) }, &mut page);
        page
    }

    #[test]
    fn front_ends_are_compared_by_the_highest_rate_of_each() {
        let text = page(vec![step(30.0, true)], vec![1500.0, 2000.0], 1.0);
        assert!(text.contains("4.0 times as many (at least 4: met)"), "{text}");
        assert!(text.contains("may use 0.5 of a core"), "{text}");
        assert!(text.contains("1500, 2000 ms (at most 2000 each time: met)"), "{text}");
        assert!(text.contains("1.00 writes on the hub (at most 1: met)"), "{text}");
        assert!(
            text.contains("With 60 changes one after the other, each took 40.0 ms of CPU"),
            "{text}"
        );
        assert!(text.contains("121 MiB at the peak (at most 120: **missed**)"), "{text}");
        // 11 s of the 7.5 s that it may have in 15 s.
        assert!(
            text.contains(
                "150.0 changes a second are too much: the hub uses 0.73 of its 0.5 cores, and wants more in 90 % of the periods"
            ),
            "{text}"
        );
        assert!(text.contains("The first limit is **the CPU of the hub"), "{text}");
        let text = page(vec![step(30.1, true)], vec![2001.0, 100.0], 1.01);
        assert_eq!(text.matches("**missed**").count(), 4, "{text}");
    }

    #[test]
    fn a_limit_is_named_where_something_is_used_up() {
        let limit = |throttled, members| {
            let mut step = step(150.0, false);
            (step.throttled, step.spent.members) = (throttled, members);
            first_limit("copies", &step, Some(500))
        };
        let machine = std::thread::available_parallelism().map_or(1.0, |all| count(all.get()));
        assert!(limit(Some(0.6), 0.0).contains("**the CPU of the hub's API server"));
        assert!(limit(Some(0.4), machine * 15.0).contains("**this machine**"));
        assert!(limit(None, machine * 15.0).contains("**this machine**"));
        assert!(limit(Some(0.4), 0.0).contains("Neither is used up"));
    }

    #[test]
    fn a_front_end_that_carries_nothing_is_no_measure() {
        let text = page(vec![step(5.0, false)], vec![1.0], 1.0);
        assert!(text.contains("Not each front end sustained the first rate: **missed**"), "{text}");
    }
}
