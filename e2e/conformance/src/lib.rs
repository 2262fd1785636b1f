//! The command `fleet-conformance`: starts two whole clusters with both agents, runs the conformance suite of the MCS API
//! (kubernetes-sigs/mcs-api) against them, and keeps its report.
//!
//! The suite is a program that its user has built. `clusters` starts what it needs and shows that it is there, `suite` runs
//! the program, `report` reads what it reports.

mod clusters;
mod report;
mod suite;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use fleet_nodes::node::ProxyMode;
use fleet_testbed::stop::Stop;
use tracing_subscriber::EnvFilter;

use report::Report;
use suite::Suite;

/// Exit code of a program that Ctrl-C ended, as shells count it.
const INTERRUPTED: u8 = 130;

/// Runs the conformance suite of the MCS API against two whole clusters with both agents, and keeps its report.
#[derive(Debug, Parser)]
#[command(name = "fleet-conformance", version)]
struct CommandLine {
    /// The suite: the test program of the folder `conformance` of kubernetes-sigs/mcs-api, as `go test -c` makes it.
    #[arg(value_name = "SUITE")]
    suite: PathBuf,
    /// Mode of kube-proxy: nftables or iptables. May be repeated; by default both, one after the other.
    #[arg(long = "proxy", value_name = "MODE", value_parser = proxy_mode)]
    modes: Vec<ProxyMode>,
    /// Folder for the reports, one file for each mode.
    #[arg(long, value_name = "FOLDER", default_value = "docs/conformance")]
    report: PathBuf,
    /// Who is responsible for this implementation, for the report: SIG Multicluster takes it only with this and --url.
    #[arg(long, default_value = "")]
    organization: String,
    /// Where this implementation is described, for the report.
    #[arg(long, default_value = "")]
    url: String,
    /// Further arguments of the suite, after `--`. For example -ginkgo.label-filter=DNS; then nothing is kept.
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// Runs the command. The exit code is 0 only if every case has passed in every mode.
pub async fn main() -> ExitCode {
    let command = CommandLine::parse();
    // The client reports each refused look at a server that is about to be ready.
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new("warn,kube_client=off"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let mut stop = match Stop::listen() {
        Ok(stop) => stop,
        Err(error) => return failed(&error.into()),
    };
    let ran = tokio::select! {
        ran = run(&command) => ran,
        () = stop.wait() => {
            eprintln!("fleet-conformance: interrupted; everything is stopped");
            return ExitCode::from(INTERRUPTED);
        }
    };
    ran.map_or_else(|error| failed(&error), |()| ExitCode::SUCCESS)
}

fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("fleet-conformance: {error:#}");
    ExitCode::FAILURE
}

async fn run(command: &CommandLine) -> Result<()> {
    let about = ["-organization", &command.organization, "-url", &command.url];
    let more = command.arguments.iter().map(String::as_str);
    let suite = Suite::find(&command.suite, about.into_iter().chain(more))?;
    let modes = if command.modes.is_empty() { &ProxyMode::ALL[..] } else { &command.modes };
    let mut all_passed = true;
    for mode in modes {
        let text = clusters::run(*mode, &suite).await?;
        let report = Report::read(&text).with_context(|| format!("read the report:\n{text}"))?;
        eprintln!("{mode}: {report}");
        all_passed &= report.is_passed();
        if command.arguments.is_empty() {
            keep(&command.report, *mode, &text)?;
        }
    }
    ensure!(all_passed, "not every case has passed");
    Ok(())
}

fn keep(folder: &Path, mode: ProxyMode, text: &str) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    let file = folder.join(format!("{mode}.yaml"));
    fs::write(&file, text).with_context(|| format!("write {}", file.display()))?;
    eprintln!("the report is in {}", file.display());
    Ok(())
}

fn proxy_mode(text: &str) -> Result<ProxyMode, String> {
    let mode = ProxyMode::ALL.into_iter().find(|mode| mode.to_string() == text);
    mode.ok_or_else(|| {
        format!("`{text}` is none of {}", ProxyMode::ALL.map(|mode| mode.to_string()).join(", "))
    })
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
    fn modes_are_called_as_kube_proxy_calls_them() {
        let command = CommandLine::try_parse_from(["", "suite", "--proxy", "iptables"]).unwrap();
        assert_eq!(command.modes, [ProxyMode::Iptables]);
        assert!(CommandLine::try_parse_from(["", "suite", "--proxy", "ipvs"]).is_err());
    }

    #[test]
    fn what_follows_two_dashes_is_the_suites() {
        let command = CommandLine::try_parse_from(["", "suite", "--", "-ginkgo.v"]).unwrap();
        assert_eq!(command.arguments, ["-ginkgo.v"]);
    }
}
