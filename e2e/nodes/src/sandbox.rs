//! Namespaces of the kernel for one node: network, mounts, processes. A process holds them; when it ends in any way, the
//! kernel ends every other process in them, and removes their mounts and links. So nothing outlives a run, not even
//! containers, whose processes belong to no process of the run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use fleet_testbed::process::{Launch, Server, find_in_path};
use fleet_testbed::state::{ProcessRecord, RunDir};
use fleet_testbed::wait::wait_for;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Command;
use tokio::time::timeout;

use crate::processes::child_of;

const READY_DEADLINE: Duration = Duration::from_secs(20);
const END_DEADLINE: Duration = Duration::from_secs(10);
/// What takes longer hangs.
const COMMAND_DEADLINE: Duration = Duration::from_mins(2);

/// Namespaces with a first process. Dropping it ends everything inside.
#[derive(Debug)]
pub struct Sandbox {
    /// Outside of the namespace of processes; it ends the first process when it ends itself.
    holder: Server,
    /// The first process, as the machine counts.
    first: ProcessRecord,
    nsenter: PathBuf,
}

/// A server in a sandbox. Dropping it kills it.
#[derive(Debug)]
pub struct Inside(Server);

impl Inside {
    /// An error with the end of its log if it has ended.
    pub fn check_alive(&mut self) -> Result<()> {
        self.0.check_alive()
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        // The process that entered waits for the server, which is its only child.
        let server = child_of(self.0.pid()).and_then(|pid| i32::try_from(pid).ok());
        if let Some(pid) = server.and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

impl Sandbox {
    /// Starts namespaces whose first process runs `script`, with sh, and then waits. Returns once the script is through.
    pub async fn start(name: &str, folder: &Path, script: &str, run: &RunDir) -> Result<Self> {
        let (script_path, ready) =
            (folder.join(format!("{name}.sh")), folder.join(format!("{name}.ready")));
        // The first process inherits what its children leave behind; `wait` reaps it.
        let script = format!(
            "set -eu\n{script}\n: >'{}'\nwhile :; do sleep 5 & wait; done\n",
            ready.display()
        );
        std::fs::write(&script_path, script)?;
        let flags =
            ["--net", "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc", "sh"];
        let launch = Launch {
            name: name.to_owned(),
            program: find_in_path("unshare").context("unshare is not on PATH")?,
            arguments: flags.iter().map(OsString::from).chain([script_path.into()]).collect(),
            environment: Vec::new(),
            without: Vec::new(),
            log: folder.join(format!("{name}.log")),
        };
        let mut holder = Server::start(&launch, run)?;
        let pid = wait_for(&format!("the namespaces of {name}"), READY_DEADLINE, async || {
            holder.check_alive()?;
            Ok(child_of(holder.pid()).filter(|_| ready.exists()))
        })
        .await?;
        // Recorded, so that the next start waits for its end: all that is in the namespaces has ended then.
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        let first = ProcessRecord::of(name, pid, &program);
        run.record(&first)?;
        let nsenter = find_in_path("nsenter").context("nsenter is not on PATH")?;
        Ok(Self { holder, first, nsenter })
    }

    /// The first process, as the machine counts.
    pub fn pid(&self) -> u32 {
        self.first.pid
    }

    /// Runs a command inside to its end; its output. An error with what it wrote if it fails.
    pub async fn run(&self, program: &str, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(&self.nsenter);
        command.args(self.enter(program.into())).args(arguments);
        output(&mut command).await.with_context(|| program.to_owned())
    }

    /// Starts a server inside.
    pub fn start_server(&self, launch: Launch, run: &RunDir) -> Result<Inside> {
        let mut arguments = self.enter(launch.program.into_os_string());
        arguments.extend(launch.arguments);
        let launch = Launch { program: self.nsenter.clone(), arguments, ..launch };
        Server::start(&launch, run).map(Inside)
    }

    /// Not `ip netns exec`, which mounts another /sys and so hides the control groups.
    fn enter(&self, program: OsString) -> Vec<OsString> {
        let target = format!("--target={}", self.pid());
        let flags = [target.as_str(), "--net", "--mount", "--pid", "--"];
        flags.iter().map(OsString::from).chain([program]).collect()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.holder.kill();
        // What follows removes files that the processes inside have open, and groups that they are in.
        let deadline = Instant::now() + END_DEADLINE;
        while self.first.runs() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Runs a command to its end; its output. An error with what it wrote if it fails, and one if it hangs.
pub async fn output(command: &mut Command) -> Result<String> {
    let ended = timeout(COMMAND_DEADLINE, command.kill_on_drop(true).output()).await;
    let output =
        ended.map_err(|_| anyhow!("not within {COMMAND_DEADLINE:?}"))?.context("start it")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {}", output.status, errors.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
