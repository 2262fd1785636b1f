//! Runs a command.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::CommandFactory as _;
use fleet_api::ObjectName;

use crate::args::{Cli, Command, Explain, JoinArgs};
use crate::explain::explain;
use crate::gather::Watched;
use crate::output::{Format, UNASKED, answer, data, print};
use crate::picture::Picture;
use crate::render;
use crate::story::Cause;
use crate::{
    approval, diff, doctor, graph, join, leave, leave_local, map, offload, pod_path, reach,
    rebuild_hub, recorded, status, trace, traffic, what_if,
};

/// Runs the command and returns its exit code.
///
/// # Errors
/// If the command cannot run; the message is one line.
pub async fn run(cli: Cli) -> Result<ExitCode> {
    if cli.output.format.is_picture() && !matches!(cli.command, Command::Graph(_)) {
        bail!("-o dot, mermaid and svg are for fleetctl graph");
    }
    match &cli.command {
        Command::Join(args) if args.request => approval::request(&cli, args).await,
        Command::Join(args @ JoinArgs { approve: Some(file), .. }) => {
            approval::approve(&cli, args, file).await
        }
        Command::Join(args @ JoinArgs { finish: Some(file), .. }) => {
            approval::finish(&cli, args, file).await
        }
        Command::Join(args) => join::run(&cli, args).await,
        Command::Leave(args) if args.local => leave_local::run(&cli, args).await,
        Command::Leave(args) => leave::run(&cli, args).await,
        Command::Status { reach: true } => reach::run(&cli).await,
        Command::Status { reach: false } => show_status(&cli).await,
        Command::Explain(Explain::Service { service }) => show_explanation(&cli, service).await,
        Command::Explain(Explain::Pod { pod, origin }) => {
            pod_path::run(&cli, pod, origin.as_deref()).await
        }
        Command::Offload(command) => offload::run(&cli, command).await,
        Command::Drain(args) => traffic::drain(&cli, args).await,
        Command::Undrain(args) => traffic::undrain(&cli, args).await,
        Command::Silence(command) => traffic::silence(&cli, command).await,
        Command::Forget(args) if args.hub => traffic::forget_hub(&cli, args).await,
        Command::Forget(args) => traffic::forget(&cli, args).await,
        Command::RebuildHub(args) => rebuild_hub::run(&cli, args).await,
        Command::Graph(args) => graph::run(&cli, args).await,
        Command::Map(args) => map::run(&cli, args).await,
        Command::WhatIf(command) => what_if::run(&cli, command).await,
        Command::Record(args) => recorded::run(&cli, args).await,
        Command::Trace(args) => trace::run(&cli, args).await,
        Command::Diff => diff::run(&cli).await,
        Command::Doctor(args) => doctor::run(&cli, args).await,
        Command::Completion { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "fleetctl", &mut script);
            print(&String::from_utf8(script)?)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn show_explanation(cli: &Cli, service: &ObjectName) -> Result<ExitCode> {
    let watched = Watched::start(&cli.access).await?;
    let story = watched.ask(
        |picture| explain(picture, service),
        |story| !story.hops.iter().any(|hop| hop.cause.is_some_and(Cause::is_passing)),
    );
    let mut story = story.await;
    let behind = |cause| matches!(cause, Cause::AgentBehind | Cause::HubAgentBehind);
    if story.hops.iter().filter_map(|hop| hop.cause).any(behind) {
        let blocked = watched.blocked(service).await;
        story = explain(&Picture { blocked, ..watched.picture() }, service);
    }
    let text = data(cli.output.format, &story)?;
    print(&text.unwrap_or_else(|| render::story(&story, cli.output.paint())))?;
    if story.stops() {
        cli.access.report_for_commands()?;
    }
    Ok(answer(!story.stops()))
}

async fn show_status(cli: &Cli) -> Result<ExitCode> {
    let watched = Watched::start(&cli.access).await?;
    let is_calm = |member: &status::MemberStatus| {
        let standard = member.standard.as_ref();
        member.lag.slices == 0 && standard.is_none_or(|standard| standard.lag.slices == 0)
    };
    let calm = |status: &status::Status| status.members.iter().all(is_calm);
    let status = watched.ask(status::status, calm).await;
    let status = status.with_quotas(watched.quotas().await);
    let status = status.with_credentials(watched.credentials().await);
    let status = status.with_offload(watched.offload().await);
    let text = data(cli.output.format, &status)?;
    let wide = cli.output.format == Format::Wide;
    print(&text.unwrap_or_else(|| render::status(&status, wide, cli.output.paint())))?;
    Ok(if status.unread.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(UNASKED) })
}
