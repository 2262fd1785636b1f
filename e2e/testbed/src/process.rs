//! Child processes that end with their owner.
//!
//! Three nets, from fine to coarse: dropping a [`Server`] kills and reaps it; `setpriv --pdeathsig` (util-linux) makes
//! the kernel kill it when this process ends in any way, SIGKILL included; and [`RunDir`] remembers every process, so
//! that the next start finds what a killed run left where `setpriv` is missing.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process};

use super::state::{ProcessRecord, RunDir};

type SpawnRequest = (Command, mpsc::Sender<std::io::Result<Child>>);

/// The one thread that starts children. The kernel sends the death signal when the *thread* that forked ends, and
/// tokio's blocking threads end when idle; this one ends with the process.
static SPAWNER: LazyLock<mpsc::Sender<SpawnRequest>> = LazyLock::new(|| {
    let (sender, requests) = mpsc::channel::<SpawnRequest>();
    std::thread::Builder::new()
        .name("spawner".to_owned())
        .spawn(move || {
            for (mut command, reply) in requests {
                // A caller that stopped waiting has dropped its child; nothing to report.
                let _ = reply.send(command.spawn());
            }
        })
        .expect("a process that cannot start a thread cannot run a testbed");
    sender
});

/// Where `setpriv` is, if this machine has one that knows `--pdeathsig`.
static SETPRIV: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let path = find_in_path("setpriv")?;
    let works = Command::new(&path)
        .args(["--pdeathsig", "KILL", "--", "true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    works.then_some(path)
});

/// Whether CI runs this, which skips no test and rewrites nothing in its checkout.
pub fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|ci| ci == "true")
}

/// The first file called `name` in the folders of PATH.
pub fn find_in_path(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// Starts a command so that it dies with this process where the machine can arrange that.
///
/// The child gets its own process group: Ctrl-C reaches this process only, which then stops its children in order.
pub fn spawn_bound(
    program: &Path,
    arguments: &[OsString],
    configure: impl FnOnce(&mut Command),
) -> Result<Child> {
    let mut command = if let Some(setpriv) = SETPRIV.as_ref() {
        let mut command = Command::new(setpriv);
        command.args(["--pdeathsig", "KILL", "--"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.args(arguments).stdin(Stdio::null()).process_group(0);
    configure(&mut command);
    let (reply, answer) = mpsc::channel();
    SPAWNER.send((command, reply)).map_err(|_| anyhow!("the spawner thread ended"))?;
    answer
        .recv()
        .context("the spawner thread ended")?
        .with_context(|| format!("start {}", program.display()))
}

/// What to run.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Short name for messages, for example `etcd`.
    pub name: String,
    /// The program's file.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Variables added to this process's environment.
    pub environment: Vec<(String, String)>,
    /// Variables of this process's environment that the child must not see.
    pub without: Vec<String>,
    /// File that stdout and stderr are appended to.
    pub log: PathBuf,
}

/// A running child process. Dropping it kills it and waits for its end.
#[derive(Debug)]
pub struct Server {
    name: String,
    child: Child,
    log: PathBuf,
    log_start: u64,
}

impl Server {
    /// Starts the program, with its output going to a log file, and records it in the run folder.
    pub fn start(launch: &Launch, run: &RunDir) -> Result<Self> {
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&launch.log)
            .with_context(|| format!("open {}", launch.log.display()))?;
        let log_start = log.metadata()?.len();
        let errors = log.try_clone()?;
        let child = spawn_bound(&launch.program, &launch.arguments, |command| {
            command.stdout(log).stderr(errors);
            for name in &launch.without {
                command.env_remove(name);
            }
            for (name, value) in &launch.environment {
                command.env(name, value);
            }
        })?;
        let server = Self { name: launch.name.clone(), child, log: launch.log.clone(), log_start };
        let record = ProcessRecord::of(&launch.name, server.pid(), &launch.program);
        run.record(&ProcessRecord { log: Some(launch.log.clone()), ..record })?;
        Ok(server)
    }

    /// The process id; the same for the program as for the launcher that became it.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The name given at start.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where its output goes.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The exit status if it ended by itself or by a signal.
    pub fn exited(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// An error with the end of its log if the process has ended.
    pub fn check_alive(&mut self) -> Result<()> {
        match self.exited() {
            None => Ok(()),
            Some(status) => {
                bail!("{} ended with {status}; its last lines:\n{}", self.name, self.log_tail(15))
            }
        }
    }

    /// What this process (not an earlier one with the same log file) has written so far.
    pub fn output(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        let from = usize::try_from(self.log_start).unwrap_or(0).min(bytes.len());
        String::from_utf8_lossy(&bytes[from..]).into_owned()
    }

    /// The last `lines` lines of its log.
    pub fn log_tail(&self, lines: usize) -> String {
        tail(&self.output(), lines)
    }

    /// SIGKILL, then waits for the end.
    pub fn kill(&mut self) {
        // Both fail only if the process is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// SIGTERM, then SIGKILL if it has not ended within `patience`. True if it ended by itself.
    pub async fn stop(&mut self, patience: Duration) -> bool {
        self.signal(Signal::TERM);
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            if self.exited().is_some() {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.kill();
        false
    }

    /// Sends a signal, for example STOP to freeze it.
    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.pid()).ok().and_then(Pid::from_raw) {
            // The child is ours and not reaped yet, so the id cannot belong to anybody else.
            let _ = kill_process(pid, signal);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The last `count` lines of `text`.
fn tail(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tail_keeps_the_last_lines() {
        assert_eq!(tail("a\nb\nc\n", 2), "b\nc");
        assert_eq!(tail("a", 5), "a");
        assert_eq!(tail("", 5), "");
    }
}
