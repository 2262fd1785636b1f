//! Where the time of one endpoint change goes: by the agents' own clocks, part by part, beside the bench's clock.
//!
//! An agent cannot see how long its API server kept an event. It sees how much later than the answer to a write the
//! event of that write comes; the event of the same write reaches the next agent at about the same time.

use super::scrape::Scrape;

const PARTS: &str = "fleet_networking_stage_part_duration_seconds";
const SEEN: &str = "fleet_runtime_own_write_seen_seconds";
const DECODE: &str = "fleet_accumulator_decode_seconds";

/// An agent on the way, its stage and its controller, and the kind that it watches.
const AGENTS: [(&str, &str, &str, &str); 3] = [
    ("exporter", "export", "export", "EndpointSlice"),
    ("hub agent", "distribute", "service", "EndpointSliceExport"),
    ("importer", "import", "import", "EndpointSliceImport"),
];
/// What happens in an agent, in this order.
const STEPS: [&str; 4] = ["snapshot", "queue", "plan", "write"];

/// A part of the way: median and 99th percentile in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Times {
    pub(super) p50: f64,
    pub(super) p99: f64,
}

/// Lines of a table. `user` is the user's write with its event and `whole` the whole way, both by the bench's clock.
pub(super) fn lines(work: &Scrape, user: Times, whole: Times) -> Vec<String> {
    let mut lines = vec![
        "Where the time of a steady change goes        p50 /    p99 ms   share of p50".to_owned(),
        line("user's write and its event, outside clock", user, Some(whole)),
    ];
    let mut sum = user.p50;
    for (agent, stage, controller, kind) in AGENTS {
        let mut add = |part: &str, times: Option<Times>, counts: bool| {
            let Some(times) = times else { return };
            sum += if counts { times.p50 } else { 0.0 };
            lines.push(line(&format!("{agent}: {part}"), times, counts.then_some(whole)));
        };
        // It is over when an event counts as received, and a part of how late the event comes.
        add("decode, within watch", work.times(DECODE, &[("kind", kind)]), false);
        for step in STEPS {
            add(step, work.times(PARTS, &[("stage", stage), ("part", step)]), true);
        }
        add("watch, after the answer", work.times(SEEN, &[("controller", controller)]), true);
    }
    let difference = (sum / whole.p50 - 1.0) * 100.0;
    lines.push(format!(
        "  sum of the medians {sum:.2} ms; outside clock {:.2} ms, so that the sum differs by {difference:+.0} %",
        whole.p50
    ));
    lines
}

fn line(what: &str, times: Times, whole: Option<Times>) -> String {
    let Times { p50, p99 } = times;
    let share =
        whole.map_or_else(String::new, |whole| format!("{:8.1} %", p50 / whole.p50 * 100.0));
    format!("  {what:<42} {p50:6.3} / {p99:6.3}   {share}").trim_end().to_owned()
}

impl Scrape {
    fn times(&self, histogram: &str, labels: &[(&str, &str)]) -> Option<Times> {
        let at = |share| self.percentile(histogram, labels, share);
        Some(Times { p50: at(0.5)?, p99: at(0.99)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_listed_and_added_up() {
        let bucket = |le: &str, count: u32| {
            format!("{PARTS}_bucket{{part=\"write\",stage=\"export\",le=\"{le}\"}} {count}\n")
        };
        let text = [bucket("0.002", 0), bucket("0.004", 10), bucket("+Inf", 10)].concat();
        let work = Scrape::of(&text).since(&Scrape::default());
        let user = Times { p50: 2.0, p99: 3.0 };
        let lines = lines(&work, user, Times { p50: 10.0, p99: 20.0 });
        let has = |start: &str, end: &str| {
            lines.iter().any(|line| line.trim().starts_with(start) && line.ends_with(end))
        };
        assert!(has("exporter: write", "3.000 /  3.980       30.0 %"), "{lines:#?}");
        assert!(has("sum of the medians 5.00 ms", "differs by -50 %"), "{lines:#?}");
        assert!(!has("importer: write", ""), "{lines:#?}");
    }
}
