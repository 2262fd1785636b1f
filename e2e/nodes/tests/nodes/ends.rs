//! A run that is killed, and one whose test fails, leave no process, mount, link or group, and the next run no file.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_nodes::node::ProxyMode;
use fleet_nodes::processes::started_by;
use fleet_nodes::whole::WholeFleet;
use fleet_testbed::state::{self, ProcessRecord};
use fleet_testbed::wait::wait_until;
use tokio::runtime::Runtime;

/// With this variable the program starts one cluster and waits, to be killed.
pub(crate) const HOLD: &str = "FLEET_NODES_HOLD";
const DEADLINE: Duration = Duration::from_secs(20);

/// The run that is killed. It prints the link of the machine once everything runs.
pub(crate) fn hold() -> ExitCode {
    let held = Runtime::new().map_err(anyhow::Error::from).and_then(|runtime| {
        runtime.block_on(async {
            let fleet = WholeFleet::start(1, ProxyMode::Nftables).await?;
            writeln!(std::io::stdout(), "{}", fleet.link())?;
            std::future::pending::<Result<()>>().await
        })
    });
    eprintln!("{held:?}");
    ExitCode::FAILURE
}

pub(crate) async fn check() -> Result<()> {
    let killed = killed()?;
    killed.wait_until_ended().await.context("killed")?;
    // This run removes the files of the other.
    let failed = tokio::task::spawn_blocking(failed).await??;
    failed.wait_until_ended().await.context("failed")?;
    for run in [&killed, &failed] {
        let left = run.folders(&state::root()?)?;
        ensure!(left.is_empty(), "left: {left:?}");
    }
    // The logs that a failed test keeps.
    let kept = failed.folders(&std::env::temp_dir().join("fleet-testbed-failed"))?;
    ensure!(!kept.is_empty(), "no logs are kept");
    kept.iter().try_for_each(fs::remove_dir_all).context("remove the logs")
}

fn killed() -> Result<Traces> {
    let program = std::env::current_exe()?;
    let mut run = Command::new(program).env(HOLD, "1").stdout(Stdio::piped()).spawn()?;
    let traces = first_line(&mut run).and_then(|link| Traces::of(run.id(), link));
    run.kill()?;
    run.wait()?;
    traces
}

/// A panic, as of a failed assertion, while a fleet of this process runs.
fn failed() -> Result<Traces> {
    let (sender, traces) = std::sync::mpsc::channel();
    let test = std::thread::spawn(move || -> Result<()> {
        let runtime = Runtime::new()?;
        let fleet = runtime.block_on(WholeFleet::start(1, ProxyMode::Nftables))?;
        let _ = sender.send(Traces::of(std::process::id(), fleet.link())?);
        resume_unwind(Box::new("a test that fails"))
    });
    match test.join() {
        Ok(ended) => ended.and_then(|()| anyhow::bail!("it did not panic")),
        Err(_) => traces.recv().context("what it has started"),
    }
}

fn first_line(run: &mut Child) -> Result<String> {
    let mut line = String::new();
    let output = run.stdout.take().context("its output")?;
    BufReader::new(output).read_line(&mut line)?;
    ensure!(!line.is_empty(), "it ended by itself");
    Ok(line.trim().to_owned())
}

/// What a run has on the machine.
struct Traces {
    /// Its process, which its folders are named after.
    run: String,
    processes: Vec<ProcessRecord>,
    link: String,
}

impl Traces {
    /// Of the fleet that a process runs, with this link.
    fn of(run: u32, link: String) -> Result<Self> {
        let processes = started_by(run)?;
        let shims = processes.iter().filter(|one| one.name.starts_with("containerd-shim")).count();
        ensure!(shims > 0, "no containers run: {processes:?}");
        ensure!(network_link(&link).exists(), "there is no link {link}");
        Ok(Self { run: run.to_string(), processes, link })
    }

    async fn wait_until_ended(&self) -> Result<()> {
        wait_until("nothing of the run is left", DEADLINE, async || {
            let running: Vec<_> = self.processes.iter().filter(|one| one.runs()).collect();
            ensure!(running.is_empty(), "processes: {running:?}");
            ensure!(!network_link(&self.link).exists(), "link {}", self.link);
            Ok(true)
        })
        .await?;
        let mounts = fs::read_to_string("/proc/self/mounts")?;
        let own = mounts.lines().find(|mount| mount.contains(&format!("-{}", self.run)));
        ensure!(own.is_none(), "a mount is left: {own:?}");
        Ok(())
    }

    fn folders(&self, root: &Path) -> Result<Vec<PathBuf>> {
        let folders = fs::read_dir(root)?.flatten().map(|entry| entry.path());
        Ok(folders.filter(|folder| self.owns(folder)).collect())
    }

    /// `nodes-<run>`, `run-<run>-<number>`.
    fn owns(&self, folder: &Path) -> bool {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.split('-').nth(1) == Some(&self.run)
    }
}

fn network_link(name: &str) -> PathBuf {
    Path::new("/sys/class/net").join(name)
}
