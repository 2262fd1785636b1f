//! Runs `what-if`.

use std::process::ExitCode;

use anyhow::Result;

use super::action::Action;
use super::args::{ApplyArgs, DrainArgs, UnexportArgs, WhatIfCommand};
use super::documents;
use super::foresee::what_if;
use super::refused;
use super::text::text;
use crate::args::Cli;
use crate::output::{Format, answer, data, print};
use crate::recorded::read;
use crate::traffic::Refused;

/// Prints what would become of the fleet. Exits 1 if a Service would be left without endpoints, if something was not read, or if
/// `fleetctl drain` would refuse.
pub(crate) async fn run(cli: &Cli, command: &WhatIfCommand) -> Result<ExitCode> {
    let action = action(command)?;
    let fleet = read(&cli.access).await?;
    let (found, _) = match what_if(&fleet, &action) {
        Ok(found) => found,
        // Without an answer for any other reason.
        Err(error) => return print_refused(cli, &action, &error.downcast::<Refused>()?),
    };
    let wide = cli.output.format == Format::Wide;
    let printed = data(cli.output.format, &found)?;
    print(&printed.unwrap_or_else(|| text(&found, wide, cli.output.paint())))?;
    Ok(answer(found.is_good()))
}

fn print_refused(cli: &Cli, action: &Action, found: &Refused) -> Result<ExitCode> {
    let printed = data(cli.output.format, &refused::data(action, found))?;
    print(&printed.unwrap_or_else(|| refused::text(found, cli.output.paint())))?;
    Ok(answer(false))
}

fn action(command: &WhatIfCommand) -> Result<Action> {
    Ok(match command {
        WhatIfCommand::Lose { member } => Action::Lose(member.clone()),
        WhatIfCommand::Drain(DrainArgs { member, services, force }) => {
            let (member, services) = (member.clone(), services.clone());
            Action::Drain { member, services, force: *force }
        }
        WhatIfCommand::Unexport(UnexportArgs { service, from }) => {
            Action::Unexport { service: service.clone(), from: from.clone() }
        }
        WhatIfCommand::Apply(ApplyArgs { file, to }) => {
            Action::Apply { to: to.clone(), objects: documents::read(file)? }
        }
    })
}
