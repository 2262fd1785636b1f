//! The suite as a program: what it is given, and the report that it leaves.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fleet_testbed::process::spawn_bound;

/// The suite's own limit is ten minutes, which is too short for it.
const LIMIT: &str = "60m";
const REPORT: &str = "report.yaml";
const PAUSE: Duration = Duration::from_millis(200);

/// A built suite, with further arguments for it.
pub(super) struct Suite {
    program: PathBuf,
    arguments: Vec<String>,
}

impl Suite {
    pub(super) fn find<'a>(
        program: &Path,
        arguments: impl Iterator<Item = &'a str>,
    ) -> Result<Self> {
        let found = fs::canonicalize(program);
        let program = found.with_context(|| format!("find the suite {}", program.display()))?;
        ensure!(program.is_file(), "the suite {} is no program", program.display());
        Ok(Self { program, arguments: arguments.map(str::to_owned).collect() })
    }

    /// Runs all of it against the clusters of these contexts, of which the first is the one that exports. It prints what it
    /// does; the text of its report is returned. Dropping this ends the program.
    pub(super) async fn run(
        &self,
        kubeconfig: &Path,
        contexts: &[String],
        folder: &Path,
    ) -> Result<String> {
        let child = spawn_bound(&self.program, &self.arguments(kubeconfig, contexts), |command| {
            // It writes its report where it is started.
            command.current_dir(folder);
        })?;
        Running(child).ended().await?;
        let report = folder.join(REPORT);
        fs::read_to_string(&report)
            .with_context(|| format!("the suite has left no {}", report.display()))
    }

    fn arguments(&self, kubeconfig: &Path, contexts: &[String]) -> Vec<OsString> {
        let fixed = [
            "-test.timeout",
            LIMIT,
            "-ginkgo.timeout",
            LIMIT,
            "-ginkgo.v",
            "-ginkgo.no-color",
            "-project",
            "fleet-networking",
            "-version",
            env!("CARGO_PKG_VERSION"),
            "-contexts",
            &contexts.join(","),
            "-kubeconfig",
        ]
        .map(OsString::from);
        let more = self.arguments.iter().map(OsString::from);
        fixed.into_iter().chain([kubeconfig.into()]).chain(more).collect()
    }
}

struct Running(Child);

impl Running {
    /// Waits for the end. Cases that fail are in the report, so how it ended does not matter.
    async fn ended(&mut self) -> Result<()> {
        while self.0.try_wait().context("wait for the suite")?.is_none() {
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only if it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_arguments_come_last_and_win() {
        let program = std::env::current_exe().unwrap();
        let suite = Suite::find(&program, ["-version", "9"].into_iter()).unwrap();
        let contexts = ["east".to_owned(), "west".to_owned()];
        let arguments = suite.arguments(Path::new("/k"), &contexts);
        assert!(arguments.ends_with(&["/k", "-version", "9"].map(OsString::from)));
        assert!(arguments.contains(&OsString::from("east,west")));
    }

    #[test]
    fn a_suite_that_is_not_there_is_named() {
        let error = Suite::find(Path::new("/no/such/suite"), [].into_iter()).err().unwrap();
        assert!(format!("{error:#}").contains("/no/such/suite"));
    }
}
