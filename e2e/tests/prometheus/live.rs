//! The alert rules on real agents.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use fleet_runtime::clock::Clock;
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::exchange::{export, import, wait_imported};
use fleet_testbed::prometheus::Prometheus;
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};
use fleet_testbed::{Options, Testbed};
use jiff::SignedDuration;

use super::{AGENTS, alerts, program};

const DEADLINE: Duration = Duration::from_mins(2);
const TEAM: &str = "team";
const MEMBER: Agent = Agent::Member(0);

#[tokio::test(flavor = "multi_thread")]
async fn alerts_are_quiet_on_a_healthy_fleet_and_fire_on_a_broken_one() {
    let Some(prometheus) = program("prometheus") else { return };
    let testbed = Testbed::start(Options::members(1).without_audit()).await.unwrap();
    let result = story(&testbed, &prometheus).await;
    testbed.explain(result).await.unwrap();
}

async fn story(testbed: &Testbed, program: &Path) -> Result<()> {
    let mut agents = Agents::start(testbed, &AgentOptions::default()).await?;
    testbed.user_namespace(TEAM).await?;
    work(testbed).await?;
    let rules = AGENTS.map(|agent| (agent, impatient(agent)));
    let prometheus = Prometheus::start(program, testbed, &agents, &rules).await?;

    a_healthy_fleet_is_quiet(&prometheus).await?;
    what_is_scraped_is_in_the_reference(&prometheus).await?;

    agents.stop(MEMBER).await?;
    fires(&prometheus, &["FleetMemberAgentAbsent"]).await?;
    agents.set_variable(MEMBER, "TLS_INSECURE", "true")?;
    agents.launch(MEMBER)?;
    fires(&prometheus, &["FleetHubNotVerified"]).await?;
    agents.stop(Agent::Hub).await?;
    fires(&prometheus, &["FleetHubAgentAbsent", "FleetHubNotVerified"]).await
}

/// A Service that crosses, so that whatever counts has something to count.
async fn work(testbed: &Testbed) -> Result<()> {
    let (member, address) = (testbed.member(0), next_address());
    let spec = ServiceSpec::http(TEAM, "web");
    ManualService::deploy(member, &spec, std::slice::from_ref(&address)).await?;
    export(member, TEAM, "web").await?;
    import(member, TEAM, "web", "web").await?;
    wait_imported(member, TEAM, "web", &BTreeSet::from([address]), DEADLINE).await
}

/// The rules of an agent, which fire after a second of what they wait minutes for.
fn impatient(agent: &str) -> String {
    let rules = std::fs::read_to_string(alerts(agent)).unwrap();
    let line = |line: &str| match line.split_once("for: ") {
        Some((indent, _)) if indent.trim().is_empty() => format!("{indent}for: 1s\n"),
        _ => format!("{line}\n"),
    };
    rules.lines().map(line).collect()
}

/// Every rule is evaluated again and again on the agents' real metrics.
async fn a_healthy_fleet_is_quiet(prometheus: &Prometheus) -> Result<()> {
    let begin = Instant::now();
    loop {
        // Before the first scrape it looks as if there were no agents.
        fires(prometheus, &[]).await?;
        let until = Clock::system().now() + SignedDuration::from_secs(3);
        let what = "the rules are evaluated for three seconds more";
        wait_until(what, DEADLINE, async || Ok(prometheus.evaluated().await? > until)).await?;
        let (pending, firing) =
            (prometheus.alerts("pending").await?, prometheus.alerts("firing").await?);
        if pending.is_empty() && firing.is_empty() {
            return Ok(());
        }
        // A busy machine lets an agent answer late, which is what an alert is about.
        let excused = prometheus.missed_scrapes().await? && begin.elapsed() < DEADLINE;
        ensure!(excused, "{pending:?} {firing:?}");
    }
}

/// Nothing is measured that `docs/metrics.md` does not know.
async fn what_is_scraped_is_in_the_reference(prometheus: &Prometheus) -> Result<()> {
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/metrics.md");
    let reference = std::fs::read_to_string(reference)?;
    let known = |name: &str| reference.contains(&format!("| `{name}` |"));
    let of_prometheus =
        |name: &str| name == "up" || name.starts_with("scrape_") || name.starts_with("ALERTS");
    let names = prometheus.names().await?;
    let unknown: Vec<_> = names
        .iter()
        .filter(|name| !of_prometheus(name) && !known(name))
        .filter(|name| {
            let histogram = ["_bucket", "_sum", "_count"].into_iter();
            !histogram.filter_map(|end| name.strip_suffix(end)).any(known)
        })
        .collect();
    ensure!(unknown.is_empty(), "not in docs/metrics.md: {unknown:?}");
    ensure!(names.len() > 40, "{names:?}");
    Ok(())
}

/// Exactly these alerts fire, sooner or later, and nothing else is about to.
async fn fires(prometheus: &Prometheus, wanted: &[&str]) -> Result<()> {
    let mut seen = Vec::new();
    let what = format!("{wanted:?} and nothing else fires");
    let result = wait_until(&what, DEADLINE, async || {
        seen = prometheus.alerts("firing").await?;
        seen.sort();
        Ok(seen == wanted && prometheus.alerts("pending").await?.is_empty())
    })
    .await;
    ensure!(result.is_ok(), "{what}, but {seen:?} does");
    Ok(())
}
