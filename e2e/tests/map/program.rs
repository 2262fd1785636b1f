//! `fleetctl map` as a user starts it.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// The program, and the address that it has printed.
pub(crate) struct Map {
    program: Child,
    pub(crate) url: String,
}

impl Map {
    /// Starts it with these arguments.
    pub(crate) async fn start(fleetctl: &Path, arguments: &[&str]) -> Result<Self> {
        let mut program = Command::new(fleetctl)
            .arg("map")
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("start {}", fleetctl.display()))?;
        let mut lines = BufReader::new(program.stdout.take().context("its output")?).lines();
        let url = lines.next_line().await?.context("it prints an address")?;
        Ok(Self { program, url })
    }

    /// A line of its status that is a number of kB, in MiB: `VmRSS` is its memory, `VmHWM` the largest that it had so far.
    pub(crate) fn mib(&self, line: &str) -> Result<u64> {
        let id = self.program.id().context("it runs")?;
        let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
        let mut lines = status.lines().filter_map(|it| it.split_once(':'));
        let (_, size) = lines.find(|(name, _)| *name == line).with_context(|| line.to_owned())?;
        let size = size.split_whitespace().next().context("a number")?;
        Ok(size.parse::<u64>()? / 1024)
    }

    /// Ends it.
    pub(crate) async fn end(mut self) -> Result<()> {
        self.program.kill().await?;
        Ok(())
    }
}
