//! A run that is killed leaves no process, mount or link, and the next one takes its place.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_nodes::node::ProxyMode;
use fleet_nodes::whole::WholeFleet;
use fleet_testbed::state;
use fleet_testbed::wait::wait_until;

/// With this variable the program starts one cluster and waits, to be killed.
pub(crate) const HOLD: &str = "FLEET_NODES_HOLD";
const DEADLINE: Duration = Duration::from_secs(20);

/// The run that is killed. It prints the link of the machine, and the first process of its node.
pub(crate) fn hold() -> ExitCode {
    let held = tokio::runtime::Runtime::new().map_err(anyhow::Error::from).and_then(|runtime| {
        runtime.block_on(async {
            let fleet = WholeFleet::start(1, ProxyMode::Nftables).await?;
            let pid = fleet.node(0).sandbox().pid();
            writeln!(std::io::stdout(), "{} {pid}", fleet.link())?;
            std::future::pending::<Result<()>>().await
        })
    });
    eprintln!("{held:?}");
    ExitCode::FAILURE
}

pub(crate) async fn check() -> Result<()> {
    let program = std::env::current_exe()?;
    let mut run = Command::new(program).env(HOLD, "1").stdout(Stdio::piped()).spawn()?;
    let started = first_line(&mut run);
    run.kill()?;
    run.wait()?;
    let line = started?;
    let (link, pid) = line.split_once(' ').with_context(|| format!("printed `{line}`"))?;
    let gone = |path: String| !Path::new(&path).exists();
    wait_until("processes and link of the killed run are gone", DEADLINE, async || {
        ensure!(gone(format!("/proc/{pid}")), "process {pid} runs");
        ensure!(gone(format!("/sys/class/net/{link}")), "link {link} is there");
        Ok(true)
    })
    .await?;
    let mounts = fs::read_to_string("/proc/self/mounts")?;
    let root = state::root()?.display().to_string();
    ensure!(!mounts.contains(&format!("{root}/")), "mounts are left: {mounts}");
    // The next run removes what the kernel does not.
    drop(WholeFleet::start(1, ProxyMode::Nftables).await?);
    let folders: Vec<_> = fs::read_dir(&root)?.flatten().map(|entry| entry.path()).collect();
    let left: Vec<_> = folders
        .iter()
        .filter(|folder| folder.is_dir() && state::read_owner(folder).is_none())
        .collect();
    ensure!(left.is_empty(), "folders are left: {left:?}");
    Ok(())
}

fn first_line(run: &mut Child) -> Result<String> {
    let mut line = String::new();
    let output = run.stdout.take().context("its output")?;
    BufReader::new(output).read_line(&mut line)?;
    Ok(line.trim().to_owned())
}
