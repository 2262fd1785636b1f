//! Arguments of `fleetctl drain`, `undrain` and `silence`.

use std::time::Duration;

use clap::{Args, Subcommand};
use fleet_api::ObjectName;
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_runtime::args::duration;

/// Longest time of a drain.
const LONGEST: Duration = Duration::from_hours(24);

/// Arguments of `drain`.
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches")]
pub struct DrainArgs {
    /// Name of the member
    #[arg(value_name = "MEMBER")]
    pub drained: String,
    /// Only this Service, as NAMESPACE/NAME; may be repeated. By default all that the member exports
    #[arg(long = "service", value_name = "SERVICE", value_parser = service)]
    pub services: Vec<ObjectName>,
    /// Time that it takes, such as 10m; in steps from one minute on
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = time)]
    pub over: Duration,
    /// Take the endpoints out of use with the last step, which also ends UDP flows
    #[arg(long)]
    pub remove: bool,
    /// Drain also Services that no other member serves
    #[arg(long)]
    pub force: bool,
    /// Print what it means for each Service, without writing anything
    #[arg(long)]
    pub dry_run: bool,
    /// Wait until the last step, and print each
    #[arg(long)]
    pub wait: bool,
}

/// Arguments of `undrain`.
#[derive(Args, Debug)]
pub struct UndrainArgs {
    /// Name of the member
    #[arg(value_name = "MEMBER")]
    pub drained: String,
    /// Only this Service, as NAMESPACE/NAME; may be repeated. By default everything that is drained
    #[arg(long = "service", value_name = "SERVICE", value_parser = service)]
    pub services: Vec<ObjectName>,
    /// Time that it takes, such as 10m
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = time)]
    pub over: Duration,
    /// Wait until the last step, and print each
    #[arg(long)]
    pub wait: bool,
}

/// Arguments of `forget`.
#[derive(Args, Debug)]
pub struct ForgetArgs {
    /// Name of the member
    #[arg(value_name = "MEMBER")]
    pub forgotten: String,
    /// Let the member itself forget which hub it followed, with access to that member alone: what its present hub lacks counts as
    /// withdrawn again. For a hub that does not answer members which one it is, as one of another release
    #[arg(long)]
    pub hub: bool,
    /// With --hub, the namespace of the agent's Lease
    #[arg(long, value_name = "NAMESPACE", default_value = SYSTEM_NAMESPACE)]
    pub system_namespace: String,
}

/// What can be decided about the silence of a member.
#[derive(Subcommand, Debug)]
pub enum SilenceCommand {
    /// Confirm that a member is down: its endpoints become last resort, however many others are silent
    ///
    /// It counts until the member renews its Lease again.
    Confirm {
        /// Name of the member
        #[arg(value_name = "MEMBER")]
        silent: String,
    },
    /// Let the hub agent judge, as it does by default
    Auto {
        /// Name of the member
        #[arg(value_name = "MEMBER")]
        silent: String,
    },
    /// Never take a member for silent
    Never {
        /// Name of the member
        #[arg(value_name = "MEMBER")]
        silent: String,
    },
}

fn service(text: &str) -> Result<ObjectName, String> {
    let name = ObjectName::parse(text).filter(|name| !name.namespace.is_empty());
    name.ok_or_else(|| "write it as NAMESPACE/NAME".to_owned())
}

pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    if time > LONGEST { Err("it takes a day at most".to_owned()) } else { Ok(time) }
}
