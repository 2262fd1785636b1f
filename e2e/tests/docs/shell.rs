//! Runs the blocks of one page with bash, in a folder of the page.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::process::{ChildStdin, Command};

/// Above what any block waits for by itself.
const DEADLINE: Duration = Duration::from_mins(10);

/// What is before every script: whatever a block leaves running ends when this process closes the other end of its
/// standard input, or ends itself, in any way.
const KEEPER: &str = "exec 9<&0 </dev/null\n{ read -r _ <&9; kill -KILL 0; } & disown\n";
/// Shows each command with its time, and ends with the first that fails.
const STRICT: &str = "set -euo pipefail; PS4='+ ${EPOCHREALTIME} '; set -x\n";

/// A terminal for one page. Dropping it ends what the page's blocks have left running.
pub(crate) struct Shell {
    folder: PathBuf,
    environment: Vec<(&'static str, PathBuf)>,
    count: usize,
    running: Vec<ChildStdin>,
}

impl Shell {
    /// Nothing else of this process's environment is seen but the `PATH`, behind `programs`.
    pub(crate) fn new(
        folder: PathBuf,
        programs: &Path,
        mut environment: Vec<(&'static str, PathBuf)>,
    ) -> Result<Self> {
        let path = std::env::var_os("PATH").context("PATH")?;
        let path = std::env::split_paths(&path);
        let path = std::env::join_paths(std::iter::once(programs.to_owned()).chain(path))?;
        environment.push(("PATH", path.into()));
        Ok(Self { folder, environment, count: 0, running: Vec::new() })
    }

    /// Runs commands of which none may fail.
    pub(crate) async fn script(&mut self, commands: &str) -> Result<()> {
        let (status, output) = self.run(&format!("{STRICT}{commands}\n")).await?;
        ensure!(status.success(), "{status}\n{commands}\n--- prints:\n{output}");
        Ok(())
    }

    /// Runs a command as a user types it; what it prints.
    pub(crate) async fn command(&mut self, command: &str) -> Result<String> {
        let (status, output) = self.run(&format!("{command}\n")).await?;
        ensure!(status.success(), "{status}\n{command}\n--- prints:\n{output}");
        Ok(output)
    }

    async fn run(&mut self, commands: &str) -> Result<(ExitStatus, String)> {
        self.count += 1;
        let script = self.folder.join(format!(".block-{}", self.count));
        std::fs::write(&script, format!("{KEEPER}{commands}"))?;
        // A file, since what goes on in the background holds it open.
        let path = script.with_extension("log");
        let log = std::fs::File::create(&path)?;
        let mut child = Command::new("bash")
            .arg(&script)
            .current_dir(&self.folder)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("start bash")?;
        self.running.push(child.stdin.take().context("its input")?);
        let ended = tokio::time::timeout(DEADLINE, child.wait()).await;
        let output = std::fs::read_to_string(&path)?;
        let status = ended.with_context(|| format!("it does not end:\n{commands}\n{output}"))??;
        Ok((status, output))
    }
}
