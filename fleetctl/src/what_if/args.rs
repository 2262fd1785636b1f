//! Arguments of `what-if`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use fleet_api::ObjectName;

/// What is done.
#[derive(Subcommand, Debug)]
pub enum WhatIfCommand {
    /// The cluster of a member fails: its agent and its endpoints are gone
    ///
    /// Where the hub agent decides about silent members, it takes its verdict as it would. Elsewhere the endpoints stay in use in
    /// importers, and no object changes. Endpoints of the lost cluster are counted as lost either way.
    Lose {
        /// Name of the member
        member: String,
    },
    /// A member is drained, as by fleetctl drain, all at once
    Drain(DrainArgs),
    /// A Service is not exported any more
    Unexport(UnexportArgs),
    /// A policy is applied: ServiceTraffic, FleetTraffic, MemberTraffic, or the ConfigMap of a member policy
    ///
    /// As by kubectl apply: what the file lacks stays as it is, unless the last kubectl apply has set it.
    Apply(ApplyArgs),
}

/// Arguments of `what-if drain`.
#[derive(Args, Debug)]
pub struct DrainArgs {
    /// Name of the member
    pub member: String,
    /// Drain only this Service; can be given several times
    #[arg(long = "service", value_name = "NAMESPACE/NAME", value_parser = service)]
    pub services: Vec<ObjectName>,
    /// Drain Services, too, that no other member serves
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `what-if unexport`.
#[derive(Args, Debug)]
pub struct UnexportArgs {
    /// Namespace and name of the Service
    #[arg(value_name = "NAMESPACE/NAME", value_parser = service)]
    pub service: ObjectName,
    /// Only in this member; by default in all that export it
    #[arg(long, value_name = "MEMBER")]
    pub from: Option<String>,
}

/// Arguments of `what-if apply`.
#[derive(Args, Debug)]
pub struct ApplyArgs {
    /// The file, with one or more documents; `-` for standard input
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub file: PathBuf,
    /// The member that it is applied to; by default the hub
    #[arg(long, value_name = "MEMBER")]
    pub to: Option<String>,
}

fn service(text: &str) -> Result<ObjectName, String> {
    ObjectName::parse(text).ok_or_else(|| "write the Service as NAMESPACE/NAME".to_owned())
}
