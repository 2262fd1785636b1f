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

    /// Largest memory that it had so far, in MiB.
    pub(crate) fn peak_mib(&self) -> Result<u64> {
        let id = self.program.id().context("it runs")?;
        let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|peak| peak.split_whitespace().next()).context("a peak")?;
        Ok(peak.parse::<u64>()? / 1024)
    }

    /// Ends it.
    pub(crate) async fn end(mut self) -> Result<()> {
        self.program.kill().await?;
        Ok(())
    }
}
