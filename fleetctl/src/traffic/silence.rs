//! Decides about the silence of a member.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use fleet_api::traffic::SilenceInstruction;
use kube::Client;

use super::args::SilenceCommand;
use super::write;
use crate::args::Cli;
use crate::member_objects::check_name;
use crate::output::report;

/// How often it is looked whether the hub agent has taken note.
const LOOK: Duration = Duration::from_millis(500);
/// How often at most.
const LOOKS: usize = 40;

/// Runs one of the commands.
pub(crate) async fn silence(cli: &Cli, command: &SilenceCommand) -> Result<ExitCode> {
    let (member, instruction) = match command {
        SilenceCommand::Confirm { silent } => (silent, SilenceInstruction::Confirmed),
        SilenceCommand::Auto { silent } => (silent, SilenceInstruction::Auto),
        SilenceCommand::Never { silent } => (silent, SilenceInstruction::Never),
    };
    check_name(member)?;
    let contexts = cli.access.contexts()?;
    let hub = contexts.connect(&contexts.hub).await?.write;
    if instruction == SilenceInstruction::Confirmed {
        withdraw_lapsed(&hub, member).await?;
    }
    write::change(&hub, member, |spec, _| spec.silence = instruction).await?;
    report(match instruction {
        SilenceInstruction::Confirmed => {
            "Confirmed: it is silent until it renews its Lease again, whatever the guards"
        }
        SilenceInstruction::Auto => "The hub agent judges it",
        SilenceInstruction::Never => "It is never taken for silent",
    });
    Ok(ExitCode::SUCCESS)
}

/// A confirmation of an earlier silence has lapsed, and counts anew only after it was taken back.
async fn withdraw_lapsed(hub: &Client, member: &str) -> Result<()> {
    for look in 0..LOOKS {
        let status = write::read(hub, member).await?.status.unwrap_or_default();
        if !status.silence.is_some_and(|silence| silence.lapsed) {
            return Ok(());
        }
        if look == 0 {
            write::change(hub, member, |spec, _| spec.silence = SilenceInstruction::Auto).await?;
        }
        tokio::time::sleep(LOOK).await;
    }
    bail!("the hub agent does not take note: is it running, with traffic.enabled?")
}
