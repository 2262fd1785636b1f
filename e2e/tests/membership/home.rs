//! The hub's own cluster as a member.

use std::path::PathBuf;
use std::process::{Child, Stdio};

use anyhow::{Context, Result};
use fleet_testbed::Testbed;
use fleet_testbed::agents::{AGENTS_FOLDER, GRACE_PERIOD};
use fleet_testbed::join;
use fleet_testbed::ports::free_port;
use fleet_testbed::process::spawn_bound;

/// A member agent in the hub's own cluster. Dropping it kills it.
pub(crate) struct Home(Child);

impl Drop for Home {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Joins the hub to itself and starts the agent.
pub(crate) async fn join(testbed: &Testbed) -> Result<Home> {
    let hub = testbed.hub();
    join::install_member_crds(hub).await?;
    let folder = testbed.run_path().join("home");
    std::fs::create_dir_all(&folder)?;
    let access = join::join_member(hub, hub, &folder).await?;
    let log = std::fs::File::create(testbed.run_path().join("agents/home-agent.log"))?;
    let arguments = [
        format!("--metrics-bind-address=127.0.0.1:{}", free_port()?),
        format!("--health-probe-bind-address=127.0.0.1:{}", free_port()?),
    ];
    let child = spawn_bound(&program()?, &arguments.map(Into::into), |command| {
        command.envs(join::member_environment(hub, hub, &access)).env(GRACE_PERIOD, "0s");
        command.stdout(Stdio::null()).stderr(log);
    })?;
    Ok(Home(child))
}

/// Beside the other programs.
fn program() -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os(AGENTS_FOLDER) {
        return Ok(PathBuf::from(folder).join("member-agent"));
    }
    let own = std::env::current_exe()?;
    let folder = own.ancestors().nth(2).context("the folder of the programs")?;
    Ok(folder.join("member-agent"))
}
