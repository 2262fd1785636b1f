//! What crosses between whole clusters: names and packets, from Pods to Pods.
//!
//! `make test` runs the smoke test alone, `make nodes` the others, with `--ignored`. Each test has its own clusters;
//! they run one after the other.

mod cases;
mod clusterset;
mod crossing;
mod ends;
mod images;
mod names;
mod offload;
mod questions;
mod reach;
mod routing;
mod steps;
mod traffic;

use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Result, ensure};
use fleet_nodes::node::ProxyMode;
use fleet_nodes::programs::Programs;
use fleet_nodes::requirements;
use fleet_nodes::whole::WholeFleet;
use fleet_testbed::binaries::Binaries;
use fleet_testbed::process::is_ci;
use libtest_mimic::{Arguments, Failed, Trial};

use steps::Steps;

/// What three clusters may take of an idle machine.
const START_LIMIT: Duration = Duration::from_secs(90);
const MEMORY_LIMIT_MIB: u64 = 4096;

fn main() -> ExitCode {
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    if !arguments.list
        && let Some(missing) = requirements::missing()
    {
        return without(&missing);
    }
    if std::env::var_os(ends::HOLD).is_some() {
        return ends::hold();
    }
    let mut tests = vec![trial("smoke", smoke)];
    tests
        .extend(ProxyMode::ALL.map(|mode| {
            trial(&format!("lane_{mode}"), move || lane(mode)).with_ignored_flag(true)
        }));
    tests.push(trial("traffic", traffic::check).with_ignored_flag(true));
    tests.extend(ProxyMode::ALL.map(|mode| {
        let name = format!("soak_traffic_{mode}");
        trial(&name, move || traffic::check_long(mode)).with_ignored_flag(true)
    }));
    tests.extend(ProxyMode::ALL.map(|mode| {
        let name = format!("soak_local_{mode}");
        trial(&name, move || traffic::check_local(mode)).with_ignored_flag(true)
    }));
    tests.extend(ProxyMode::ALL.map(|mode| {
        let name = format!("soak_flows_{mode}");
        trial(&name, move || traffic::check_flows(mode)).with_ignored_flag(true)
    }));
    tests.push(trial("soak_conditions", traffic::check_conditions).with_ignored_flag(true));
    tests.push(trial("soak_upgrade", traffic::check_upgrade).with_ignored_flag(true));
    tests.push(trial("offload", offload::check).with_ignored_flag(true));
    tests.push(trial("reach", reach::check).with_ignored_flag(true));
    tests.push(trial("ends", ends::check).with_ignored_flag(true));
    libtest_mimic::run(&arguments, tests).exit_code()
}

/// CI skips nothing; where its user is not root but may become so, this program does.
fn without(missing: &str) -> ExitCode {
    if is_ci() {
        return as_root().unwrap_or_else(|| {
            eprintln!("FAILED: {missing}");
            ExitCode::FAILURE
        });
    }
    eprintln!("SKIPPED: {missing}");
    ExitCode::SUCCESS
}

/// Runs this program as root, if sudo asks for no password; how it ended.
fn as_root() -> Option<ExitCode> {
    if requirements::is_root() {
        return None;
    }
    // As this user: what root builds, the user's next build may not write.
    Binaries::ensure()
        .and_then(|_| Programs::ensure())
        .inspect_err(|error| eprintln!("{error:#}"))
        .ok()?;
    let variables = std::env::vars().filter(|(name, _)| {
        ["HOME", "CI", "XDG_CACHE_HOME"].contains(&name.as_str()) || name.starts_with("FLEET_")
    });
    // A user's PATH may lack the folders of root's programs.
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let variables = variables.chain([("PATH".to_owned(), path)]);
    let status = Command::new("sudo")
        .args(["-n", "env"])
        .args(variables.map(|(name, value)| format!("{name}={value}")))
        .arg(std::env::current_exe().ok()?)
        .args(std::env::args().skip(1))
        .status()
        .ok()?;
    Some(
        status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .map_or(ExitCode::FAILURE, ExitCode::from),
    )
}

fn trial<F: Future<Output = Result<()>>>(
    name: &str,
    test: impl FnOnce() -> F + Send + 'static,
) -> Trial {
    Trial::test(name, move || {
        let runtime = tokio::runtime::Runtime::new()?;
        runtime.block_on(test()).map_err(|error| Failed::from(format!("{error:#}")))
    })
}

/// A Service by name between two whole clusters, through the agents.
async fn smoke() -> Result<()> {
    let mut steps = Steps::begin("smoke");
    let fleet = steps.take("two clusters start", WholeFleet::start(2, ProxyMode::Nftables)).await?;
    fleet.explain(crossing::by_name(&fleet, &mut steps).await).await
}

/// All of it, in one mode of kube-proxy.
async fn lane(mode: ProxyMode) -> Result<()> {
    let mut steps = Steps::begin(&mode.to_string());
    let fleet = steps.take("three clusters start", WholeFleet::start(3, mode)).await?;
    let usage = fleet.usage()?;
    eprintln!("three clusters: up in {:.1} s; {usage}", fleet.started_in().as_secs_f64());
    ensure!(usage.total() / 1024 <= MEMORY_LIMIT_MIB, "more than {MEMORY_LIMIT_MIB} MiB: {usage}");
    ensure!(fleet.started_in() <= START_LIMIT, "the start took {:?}", fleet.started_in());
    fleet.explain(checks(&fleet, mode, &mut steps).await).await
}

async fn checks(fleet: &WholeFleet, mode: ProxyMode, steps: &mut Steps) -> Result<()> {
    routing::check(fleet, steps).await?;
    // Names do not depend on kube-proxy: once is enough.
    let own = match mode {
        ProxyMode::Nftables => Some(names::check(fleet, steps).await?),
        ProxyMode::Iptables => None,
    };
    let agents = crossing::begin(fleet, steps).await?;
    if let Some(own) = own {
        clusterset::check(fleet, &own, steps).await?;
        images::check(fleet, steps).await?;
    }
    crossing::check(fleet, steps).await?;
    cases::check(fleet, mode, steps).await?;
    drop(agents);
    traffic::fails_over(fleet, mode, steps).await
}
