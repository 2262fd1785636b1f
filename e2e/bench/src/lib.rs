//! The command `fleet-bench`: latency of single changes beside that of bare relays, bulk operations, writes per
//! operation, and what the agents use.
//!
//! All agents are separate processes with their own credentials, on control planes of their own: one fleet without
//! audit logs for times, one with audit logs for counts. The bench itself plays the users, the relays and the clock:
//! every time is measured in this process, from before a user's request is sent to the watch event that shows its
//! effect.

mod access;
mod arrivals;
mod breakdown;
mod bulk;
mod change_path;
mod cpu;
mod flame;
mod flood;
mod hostile;
mod hub_account;
mod latency;
mod offload;
mod policies;
mod profile;
mod reach;
mod relay;
mod report;

mod scrape;
mod size;
mod slice;
mod standard;
mod summary;
mod turns;
mod watching;
mod writes;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use tracing_subscriber::EnvFilter;

use bulk::Services;
use change_path::{ChangePath, EXPORTER, IMPORTER};
use fleet_testbed::agents::{AgentOptions, Agents};
use fleet_testbed::fleet::Fleet;
use fleet_testbed::helm::Helm;
use fleet_testbed::{Options, Testbed, mix};
use latency::Course;
use profile::Profile;
use report::Report;
use scrape::Scrape;

const NAMESPACE: &str = "bench";
const SERVICES: usize = 100;
/// The variable of `--max-services-per-member`.
const SERVICES_OF_A_MEMBER: &str = "MAX_SERVICES_PER_MEMBER";

/// Measures latency, API writes, CPU time and memory of a fleet on this machine.
#[derive(Debug, Parser)]
#[command(name = "fleet-bench", version)]
struct CommandLine {
    /// Endpoint changes of relays and of agents, each.
    #[arg(long, default_value_t = 1000)]
    samples: usize,
    /// Rounds of the bulk operations and of counting; the median time and the highest count are reported.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// With `size`: number of further Services that are exported and not imported.
    #[arg(long, default_value_t = 0)]
    idle: usize,
    /// Measure less: 100 changes, one round, no large fleet, no hostile members.
    #[arg(long)]
    quick: bool,
    /// Measure only these.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// Draw flame graphs of the agents into this folder, with `perf`.
    #[arg(long, value_name = "FOLDER")]
    profile: Option<PathBuf>,
    /// File for the numbers.
    #[arg(long, default_value = "target/bench/report.json")]
    report: PathBuf,
}

/// What can be measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The floor and bare relays.
    Chain,
    /// The agents' endpoint change, with floor and bare relays in turns.
    Steady,
    /// The agents' endpoint change with and without the hub's admission policies.
    Policies,
    /// 100 Services at once.
    Bulk,
    /// The agents' endpoint change in large and busy fleets, and 1000 Services at once.
    Size,
    /// The agents' endpoint change while another member floods the hub.
    Flood,
    /// A Service that crosses while another member's export of it has 14 000 ports.
    Hostile,
    /// What the API servers can do.
    Mix,
    /// API writes per operation.
    Writes,
    /// The standard API of SIG Multicluster: endpoint changes beside bare relays of three hops and of four, what they cost the hub
    /// beside the copying front end, and 100 Services at once.
    Standard,
    /// What a write of an exported slice costs the hub's API server: with its admission policies and without, with
    /// `managedFields` and without.
    WriteCost,
    /// Pods that run in another member: how long they take, with the hub next door and far away, and what they write.
    Offload,
    /// What an importing member's agent needs to dial what it imports.
    Reach,
}

impl CommandLine {
    /// Agents as they are shipped, but for what a member may export where many Services are idle: their admin has raised that.
    fn agents(&self) -> AgentOptions {
        let mut options = AgentOptions::default();
        if self.idle > 0 {
            let most = size::most_exported(self.idle);
            options.environment.push((SERVICES_OF_A_MEMBER.to_owned(), most.to_string()));
        }
        options
    }

    fn wants(&self, part: Part) -> bool {
        let long = [
            Part::Size,
            Part::Flood,
            Part::Hostile,
            Part::Standard,
            Part::WriteCost,
            Part::Offload,
            Part::Reach,
        ];
        let takes_long = long.contains(&part);
        let by_itself = self.only.is_empty() && !(self.quick && takes_long);
        by_itself || self.only.contains(&part)
    }

    fn samples(&self) -> usize {
        if self.quick { self.samples.min(100) } else { self.samples }
    }

    fn rounds(&self) -> usize {
        if self.quick { 1 } else { self.rounds.max(1) }
    }
}

/// Parses the arguments, measures and reports. A missed limit is no failure.
pub async fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new("warn,kube_client=off"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    match run(&CommandLine::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fleet-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(command: &CommandLine) -> Result<()> {
    let begin = Instant::now();
    let mut report = Report::default();
    report.notes.push(format!("load of the machine before: {}", load()));
    if cfg!(debug_assertions) {
        report.notes.push("A debug build: the times mean nothing.".to_owned());
    }
    let timed = [
        Part::Chain,
        Part::Steady,
        Part::Policies,
        Part::Bulk,
        Part::Size,
        Part::Hostile,
        Part::Mix,
    ];
    if timed.into_iter().any(|part| command.wants(part)) {
        Box::pin(times(command, &mut report)).await?;
    }
    if command.wants(Part::Flood) {
        Box::pin(flooded(command, &mut report)).await?;
    }
    if command.wants(Part::Standard) {
        Box::pin(standard(command, &mut report)).await?;
    }
    if command.wants(Part::WriteCost) {
        progress(
            "Writes of an exported slice, with and without admission policies and managedFields",
        );
        Helm::v4().await?;
        let testbed = start().await?;
        let found = Box::pin(standard::write_costs(&testbed, command.samples())).await;
        summary::write_costs(testbed.explain(found).await?, &mut report);
    }
    if command.wants(Part::Offload) {
        progress("Pods that run in another member");
        Helm::v4().await?;
        let found = Box::pin(offload::measure(command.samples().div_ceil(5), command.rounds()));
        summary::offload(&found.await?, &mut report);
    }
    if command.wants(Part::Reach) {
        Box::pin(dialling(command, &mut report)).await?;
    }
    if command.wants(Part::Writes) {
        progress("Counting writes");
        let writes = writes::count(command.rounds()).await?;
        summary::writes(&writes, &mut report);
    }
    report.notes.push(format!("load of the machine at the end: {}", load()));
    report.write(&command.report)?;
    let missed = match report.missed().as_slice() {
        [] => "No limit was missed.".to_owned(),
        missed => format!("Missed: {}.", missed.join("; ")),
    };
    let (seconds, path) = (begin.elapsed().as_secs(), command.report.display());
    print(&format!("\n{report}\n{missed}\n{path} written after {seconds} s.\n"))
}

/// Everything that is timed, on one testbed without audit logs.
async fn times(command: &CommandLine, report: &mut Report) -> Result<()> {
    if command.wants(Part::Policies) {
        // The policies are rendered in the middle of the run: a build there would disturb the measurements.
        Helm::v4().await?;
    }
    progress("Starting a hub and two members");
    let testbed = start().await?;
    let mut path = ChangePath::build(&testbed).await?;
    let mut agents = None;
    let result = Box::pin(with_agents(command, report, &testbed, &path, &mut agents)).await;
    explain(result, &testbed, &mut path, agents).await?;
    if command.wants(Part::Mix) {
        progress("Replaying writes without agents");
        let rate = mix::rate(&testbed, [EXPORTER, IMPORTER], SERVICES).await?;
        report.mix_rate = Some(rate.round());
    }
    Ok(())
}

/// A hub as it is shipped and two members, without audit logs.
async fn start() -> Result<Testbed> {
    let testbed = Testbed::start(Options::members(2).without_audit().with_policies()).await?;
    testbed.user_namespace(NAMESPACE).await?;
    Ok(testbed)
}

/// Ends the agents. An agent or a relay that has ended is why nothing arrived.
async fn explain<T>(
    mut result: Result<T>,
    testbed: &Testbed,
    path: &mut ChangePath,
    mut agents: Option<Agents>,
) -> Result<T> {
    if result.is_err() {
        result = agents.as_mut().map_or(Ok(()), Agents::check_alive).and(result);
        result = path.explain(result);
        tell_logs(testbed, agents.as_ref());
    }
    drop(agents);
    testbed.explain(result).await
}

/// What others notice of a member that floods the hub, on a testbed of its own.
async fn flooded(command: &CommandLine, report: &mut Report) -> Result<()> {
    progress("Single endpoint changes while one member floods the hub");
    let testbed = start().await?;
    let mut path = ChangePath::build(&testbed).await?;
    let mut chain = Course::chain(&path).await?;
    chain.warm_up(&path).await?;
    let mut agents = None;
    let started = agents.insert(Agents::start(&testbed, &AgentOptions::default()).await?);
    let changes = (NAMESPACE, command.samples().div_ceil(2));
    let result = flood::measure(&path, &testbed, started, chain, changes).await;
    summary::flood(&explain(result, &testbed, &mut path, agents).await?, report);
    Ok(())
}

/// What it costs to dial what is imported, on a testbed of its own: its agents are started again and again.
async fn dialling(command: &CommandLine, report: &mut Report) -> Result<()> {
    progress("An agent that dials what it imports, and one that does not");
    Helm::v4().await?;
    let testbed = start().await?;
    let found = reach::measure(&testbed, command.rounds()).await;
    summary::reach(&testbed.explain(found).await?, report);
    Ok(())
}

/// The standard API, on a testbed of its own: agents that serve it have more to watch.
async fn standard(command: &CommandLine, report: &mut Report) -> Result<()> {
    progress("The standard API, beside bare relays and the copying front end");
    let testbed = start().await?;
    let mut path = ChangePath::build(&testbed).await?;
    let relays = standard::Relays::start(&mut path, &testbed).await?;
    let agents = standard::agents(&testbed).await?;
    let extent = (NAMESPACE, command.samples().div_ceil(2), command.rounds());
    let result = Box::pin(standard::measure(&path, &testbed, relays, extent)).await;
    let found = explain(result, &testbed, &mut path, Some(agents)).await?;
    progress("Replaying writes without agents");
    let rate = mix::rate(&testbed, [EXPORTER, IMPORTER], SERVICES).await?;
    summary::standard(&found, rate, report);
    Ok(())
}

async fn with_agents(
    command: &CommandLine,
    report: &mut Report,
    fleet: &Fleet,
    path: &ChangePath,
    agents: &mut Option<Agents>,
) -> Result<()> {
    let (mut chain, mut profile) = (None, None);
    if command.wants(Part::Chain) || command.wants(Part::Steady) {
        progress("Bare relays, before the agents start");
        let mut courses = (Course::floor(path).await?, Course::chain(path).await?);
        courses.1.warm_up(path).await?;
        courses.1.block(path, command.samples().div_ceil(10)).await?;
        let alone = courses.1.take_series()?;
        report.notes.push(summary::series_note("chain, no agent running", &alone));
        chain = Some(courses);
    }
    if [Part::Steady, Part::Policies, Part::Bulk, Part::Size, Part::Hostile]
        .into_iter()
        .any(|part| command.wants(part))
    {
        let started = agents.insert(Agents::start(fleet, &command.agents()).await?);
        if let Some(folder) = &command.profile {
            profile = Profile::start(fleet, started, folder)?;
        }
    }
    if let Some((floor, chain)) = chain {
        let steady = match agents {
            Some(_) if command.wants(Part::Steady) => {
                Some(Course::steady(path, fleet, (NAMESPACE, latency::STEADY)).await?)
            }
            _ => None,
        };
        progress("Single endpoint changes, relays and agents in turns");
        let before = scrape(fleet, agents.as_ref()).await?;
        let courses = (floor, chain, steady);
        let latency =
            latency::measure(path, courses, agents.as_ref(), fleet, command.samples()).await?;
        let work = scrape(fleet, agents.as_ref()).await?.since(&before);
        summary::latency(&latency, &work, fleet, report);
        if latency.steady.is_some() {
            latency::withdraw(fleet, (NAMESPACE, &[latency::STEADY])).await?;
        }
    }
    let Some(agents) = agents else { return Ok(()) };
    if command.wants(Part::Policies) {
        progress("Single endpoint changes, with admission policies and without");
        let changes = command.samples().div_ceil(4);
        let comparison = policies::compare(path, fleet, NAMESPACE, changes).await?;
        summary::policies(&comparison, report);
    }
    if command.wants(Part::Bulk) {
        progress("100 Services at once");
        let mut services = Services::make(path, NAMESPACE, SERVICES).await?;
        let mut rounds = Vec::new();
        for _ in 0..command.rounds() {
            rounds.push(services.round(path, fleet, agents).await?);
        }
        summary::bulk(&rounds, report);
    }
    if command.wants(Part::Hostile) {
        progress("Services that cross while another member stores 14 000 ports");
        summary::hostile(&hostile::measure(path, fleet, NAMESPACE).await?, report);
    }
    if command.wants(Part::Size) {
        progress("Single endpoint changes in large and busy fleets");
        let beside = (command.samples().div_ceil(4), command.idle);
        let sizes = size::measure(path, fleet, NAMESPACE, beside).await?;
        summary::sizes(&sizes, report);
    }
    if let Some(profile) = profile {
        report.notes.extend(profile.finish()?);
    }
    summary::usage(fleet, agents, report)
}

async fn scrape(fleet: &Fleet, agents: Option<&Agents>) -> Result<Scrape> {
    match agents {
        Some(agents) => Scrape::read(fleet, agents).await,
        None => Ok(Scrape::default()),
    }
}

/// The agents' last words; their logs go with the testbed.
fn tell_logs(fleet: &Fleet, agents: Option<&Agents>) {
    let Some(agents) = agents else { return };
    for agent in fleet.agents() {
        let log = agents.log(agent).and_then(|path| {
            std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))
        });
        let text = log.unwrap_or_else(|error| format!("{error:#}"));
        let lines: Vec<&str> = text.lines().collect();
        let tail = lines[lines.len().saturating_sub(15)..].join("\n");
        eprintln!("--- {}\n{tail}", fleet.agent_name(agent));
    }
}

/// Writes to stdout; a reader that went away (`| head`) is no error.
fn print(text: &str) -> Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Averages of one, five and fifteen minutes: others at work make every time longer.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}

fn progress(text: &str) {
    eprintln!("fleet-bench: {text} ...");
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn a_quick_run_does_less() {
        let quick = CommandLine::parse_from(["fleet-bench", "--quick"]);
        assert_eq!((quick.samples(), quick.rounds()), (100, 1));
        assert!(quick.wants(Part::Mix) && !quick.wants(Part::Flood));
        let part = CommandLine::parse_from(["fleet-bench", "--only", "chain,mix"]);
        assert!(part.wants(Part::Chain) && !part.wants(Part::Writes));
    }
}
