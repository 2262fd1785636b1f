//! `fleet-testbed down`.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use rustix::process::Signal;

use super::common::{Named, print};
use crate::state;
use crate::wait::wait_until;

/// A run ends within a second; one that does not is killed.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Args)]
pub(super) struct Down {
    #[command(flatten)]
    named: Named,
}

impl Down {
    pub(super) async fn run(&self) -> Result<()> {
        let name = &self.named.name;
        let folder = state::root()?.join(name);
        if !folder.is_dir() {
            bail!("no testbed is called `{name}`");
        }
        if let Some(owner) = state::read_owner(&folder) {
            owner.signal(Signal::TERM);
            let ended =
                wait_until("the end of the testbed", PATIENCE, async || Ok(!owner.runs())).await;
            if ended.is_err() {
                owner.signal(Signal::KILL);
            }
        }
        wait_until("the end of the testbed", PATIENCE, async || {
            state::clean()?;
            Ok(!folder.exists())
        })
        .await?;
        // Output of a detached run.
        let _ = std::fs::remove_file(folder.with_extension("log"));
        print(&format!("The testbed `{name}` is stopped.\n"))
    }
}
