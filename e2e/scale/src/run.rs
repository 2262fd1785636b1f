//! The command.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use fleet_testbed::agents::{Agent, AgentOptions, Agents};
use fleet_testbed::{Options, Testbed};
use tracing_subscriber::EnvFilter;

use crate::cold_start::{self, EXPORTERS, MEMBERS};
use crate::growth;
use crate::load::{FIRST, Load};
use crate::report::Report;
use crate::simulated_members::SimulatedMembers;
use crate::standard::{self, Standard};
use crate::{large_fleet, solo, wire};

/// What a hub carries, and how the costs grow: fleets of up to 1000 members on one machine.
#[derive(Debug, Parser)]
#[command(name = "fleet-scale", version)]
struct CommandLine {
    /// Measure only these. The others stay in the report as they are.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// Services of the large fleet, each with 20 exporters and 3 importers; half of them are measured first.
    #[arg(long, default_value_t = 1000)]
    services: usize,
    /// Sizes of the growing fleet.
    #[arg(long, value_delimiter = ',', default_values_t = growth::SIZES)]
    sizes: Vec<usize>,
    /// Members of the fleet that is loaded through both front ends, and of the one in which all import one Service through the
    /// standard API; 0 leaves one out.
    #[arg(long, value_delimiter = ',', default_values_t = standard::SIZES)]
    standard_sizes: Vec<usize>,
    /// What is measured, for the report.
    #[arg(long)]
    commit: Option<String>,
    /// Folder that the report goes to, with its plots.
    #[arg(long, default_value = "target/scale")]
    report: PathBuf,
}

/// What can be measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// One member agent among 5000 slices, and both agents at rest.
    Solo,
    /// The cost of one change in growing fleets, on the wire, and the highest rate of changes.
    Growth,
    /// The start of a hub agent in a large fleet.
    ColdStart,
    /// A fleet of 1000 members.
    LargeFleet,
    /// The standard API beside the copying front end, and in a fleet of 1000 members.
    Standard,
}

/// Parses the arguments, measures and reports. A missed limit is no failure.
pub async fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new("error,kube_client=off"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    match Box::pin(run(&CommandLine::parse())).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fleet-scale: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(command: &CommandLine) -> Result<()> {
    let begin = Instant::now();
    let wants = |part| command.only.is_empty() || command.only.contains(&part);
    let mut report =
        if command.only.is_empty() { Report::default() } else { Report::read(&command.report)? };
    let measured = Part::value_variants().iter().filter(|part| wants(**part));
    for name in measured.filter_map(Part::to_possible_value) {
        report.commits.remove(name.get_name());
        let commit = command.commit.clone();
        report.commits.extend(commit.map(|commit| (name.get_name().to_owned(), commit)));
    }
    if wants(Part::Solo) {
        progress("One member agent among many slices");
        report.solo = Some(solo::measure().await?);
    }
    if wants(Part::Growth) {
        let testbed = hub().await?;
        let result = grow(command, &testbed, &mut report).await;
        testbed.explain(result).await?;
    }
    if wants(Part::ColdStart) {
        let testbed = hub().await?;
        let result = start_cold(command, &testbed, &mut report).await;
        testbed.explain(result).await?;
    }
    if wants(Part::LargeFleet) {
        let testbed = hub().await?;
        let result = measure_large_fleet(&testbed, &mut report).await;
        testbed.explain(result).await?;
    }
    if wants(Part::Standard) {
        let known = report.standard.take().unwrap_or_default();
        report.standard = Some(serve_standard(&command.standard_sizes, known).await?);
    }
    report.write(&command.report)?;
    let seconds = begin.elapsed().as_secs();
    let folder = command.report.display();
    let text = format!("{}\nWritten to {folder} after {seconds} s.\n", report.page());
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// A hub without members of its own.
async fn hub() -> Result<Testbed> {
    Testbed::start(Options::members(0).without_audit()).await
}

async fn grow(command: &CommandLine, testbed: &Testbed, report: &mut Report) -> Result<()> {
    let agents = Agents::start(testbed, &AgentOptions::default()).await?;
    report.empty_rss = agents.usage(Agent::Hub)?.rss_bytes;
    let mut members = SimulatedMembers::new(testbed).await?;
    progress("A growing fleet");
    let (points, services) =
        growth::measure(testbed, &agents, &mut members, &command.sizes).await?;
    report.growth = points;
    if members.size() > 1 {
        progress("One endpoint of 5000");
        report.wire = Some(wire::measure(testbed, &agents, &mut members, services.len()).await?);
    }
    progress("A rising rate of changes");
    let load =
        Load { testbed, agents: &agents, members: &members, services: &services, quota: None };
    report.load = load.raise(FIRST).await?;
    members.stop().await
}

async fn start_cold(command: &CommandLine, testbed: &Testbed, report: &mut Report) -> Result<()> {
    let mut agents = Agents::start(testbed, &AgentOptions::default()).await?;
    report.empty_rss = agents.usage(Agent::Hub)?.rss_bytes;
    let mut members = SimulatedMembers::new(testbed).await?;
    progress("100 members join");
    members.grow(testbed, MEMBERS).await?;
    let half = command.services / 2;
    report.cold_starts.clear();
    for (from, to) in [(0, half), (half, command.services)] {
        progress(&format!("{} Services are exported and imported", to - from));
        cold_start::fill(&mut members, from..to, EXPORTERS).await?;
        progress("The hub agent starts anew");
        report.cold_starts.push(cold_start::measure(testbed, &mut agents, to).await?);
    }
    members.stop().await
}

async fn measure_large_fleet(testbed: &Testbed, report: &mut Report) -> Result<()> {
    let mut agents = Agents::start(testbed, &AgentOptions::default()).await?;
    let mut members = SimulatedMembers::new(testbed).await?;
    progress("1000 members with 2000 Services");
    report.large_fleet = Some(large_fleet::measure(testbed, &mut agents, &mut members).await?);
    members.stop().await
}

async fn serve_standard(sizes: &[usize], mut found: Standard) -> Result<Standard> {
    if let Some(&size) = sizes.first().filter(|size| **size > 0) {
        progress("A rising rate of changes through copies, then through the standard API");
        let testbed = hub().await?;
        let result = rates(&testbed, size).await;
        found.rates = Some(testbed.explain(result).await?);
    }
    if let Some(&size) = sizes.get(1).filter(|size| **size > 0) {
        progress(&format!("{size} members import one Service"));
        let testbed = hub().await?;
        let result = wide(&testbed, size).await;
        found.wide = Some(testbed.explain(result).await?);
    }
    Ok(found)
}

async fn rates(testbed: &Testbed, size: usize) -> Result<standard::Rates> {
    let (agents, mut members) = standard::serve(testbed).await?;
    let rates = standard::rates(testbed, &agents, &mut members, size).await?;
    members.stop().await?;
    Ok(rates)
}

async fn wide(testbed: &Testbed, size: usize) -> Result<standard::Wide> {
    let (agents, mut members) = standard::serve(testbed).await?;
    let wide = standard::wide(testbed, &agents, &mut members, size).await?;
    members.stop().await?;
    Ok(wide)
}

fn progress(what: &str) {
    eprintln!("{what} ...");
}
