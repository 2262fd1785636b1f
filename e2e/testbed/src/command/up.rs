//! `fleet-testbed up`.

use std::fmt::Write as _;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;

use super::common::{Named, print};
use crate::agents::{AgentOptions, Agents};
use crate::description::Description;
use crate::state;
use crate::stop::Stop;
use crate::testbed::{Options, Testbed};

/// How often a kept fleet is looked after.
const LOOK_AFTER: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
pub(super) struct Up {
    #[command(flatten)]
    named: Named,
    /// Number of members.
    #[arg(long, default_value_t = 2)]
    members: usize,
    /// Start the hub agent and the member agents too; they must have been built.
    #[arg(long)]
    agents: bool,
    /// Write no audit logs.
    #[arg(long)]
    no_audit: bool,
    /// Return when the fleet is ready and leave it running in the background.
    #[arg(long)]
    detach: bool,
}

impl Up {
    pub(super) async fn run(self) -> Result<()> {
        if self.detach {
            return self.detach();
        }
        let mut stop = Stop::listen()?;
        let options = Options {
            name: Some(self.named.name.clone()),
            members: self.members,
            audit: !self.no_audit,
            ..Options::default()
        };
        let begin = Instant::now();
        let testbed = tokio::select! {
            started = Testbed::start(options) => started?,
            () = stop.wait() => return Ok(()),
        };
        let mut agents = None;
        if self.agents {
            agents = Some(Agents::start(&testbed, &AgentOptions::default()).await?);
        }
        let description = testbed.description();
        description.write(testbed.run_path())?;
        let seconds = begin.elapsed().as_secs_f32();
        print(&format!("Ready after {seconds:.1} s.\n\n{}", directions(&description)))?;
        print("\nCtrl-C stops everything.\n")?;
        loop {
            tokio::select! {
                () = stop.wait() => break,
                () = tokio::time::sleep(LOOK_AFTER) => {}
            }
            testbed.check_alive().await?;
            agents.as_mut().map_or(Ok(()), Agents::check_alive)?;
        }
        // Agents first: they would only log that their servers are gone.
        drop(agents);
        drop(testbed);
        print("Stopped.\n")
    }

    /// Runs the same command in the background, and waits until it is ready.
    fn detach(&self) -> Result<()> {
        let root = state::root()?;
        let folder = root.join(&self.named.name);
        if let Some(owner) = state::read_owner(&folder) {
            bail!("the testbed `{}` is running already (process {})", self.named.name, owner.pid);
        }
        // What an earlier run of this name wrote must not be taken for this one's.
        let _ = std::fs::remove_file(Description::path(&folder));
        let log_path = root.join(format!("{}.log", self.named.name));
        let log = File::create(&log_path)?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["up", "--name", &self.named.name]);
        command.args(["--members", &self.members.to_string()]);
        command.args(self.agents.then_some("--agents"));
        command.args(self.no_audit.then_some("--no-audit"));
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).process_group(0);
        let mut child = command.spawn().context("start in the background")?;
        let mut shown = 0;
        while !Description::path(&folder).is_file() {
            if let Some(status) = child.try_wait()? {
                let log = std::fs::read_to_string(&log_path).unwrap_or_default();
                bail!("the background process ended with {status}:\n{log}");
            }
            // A first run builds for minutes and reports that.
            let log = std::fs::read_to_string(&log_path).unwrap_or_default();
            eprint!("{}", log.get(shown..).unwrap_or_default());
            shown = log.len();
            std::thread::sleep(Duration::from_millis(50));
        }
        print(&directions(&self.named.describe()?))?;
        print(&format!("\n`fleet-testbed down --name {}` stops everything.\n", self.named.name))
    }
}

/// How to use what runs.
fn directions(description: &Description) -> String {
    let mut text = String::new();
    for cluster in &description.clusters {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{:10} kubectl --kubeconfig {} get pods -A",
            cluster.name,
            cluster.kubeconfig.display()
        );
    }
    let _ = writeln!(text, "logs       {}/*/*.log", description.folder.display());
    text
}
