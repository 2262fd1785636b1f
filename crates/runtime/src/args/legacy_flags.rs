//! Flags of the original that have lost their meaning. They are taken, so that the arguments of a Go
//! agent can be used as they are.

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};

/// With a value.
const VALUES: [&str; 9] = [
    "internalserviceexport-retry-interval",
    "cloud-config",
    "v",
    "vmodule",
    "log_backtrace_at",
    "log_dir",
    "log_file",
    "log_file_max_size",
    "stderrthreshold",
];
/// Without, or with true or false.
const SWITCHES: [&str; 10] = [
    ENABLE_V1ALPHA1,
    TRAFFIC_MANAGER,
    "enable-v1beta1-apis",
    "add_dir_header",
    "alsologtostderr",
    "logtostderr",
    "one_output",
    "skip_headers",
    "skip_log_headers",
    "legacy_stderr_threshold_behavior",
];
const ENABLE_V1ALPHA1: &str = "enable-v1alpha1-apis";
const TRAFFIC_MANAGER: &str = "enable-traffic-manager-feature";

/// Something that was asked for and is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--{flag}: {reason}")]
pub struct Unsupported {
    flag: &'static str,
    reason: &'static str,
}

/// The former flags that were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LegacyFlags(Vec<(&'static str, String)>);

impl LegacyFlags {
    /// The flags that have no effect.
    ///
    /// # Errors
    /// If one asks for what these agents cannot do.
    pub fn without_effect(&self) -> Result<Vec<&'static str>, Unsupported> {
        let mut without = Vec::new();
        for (flag, value) in &self.0 {
            let on = !matches!(value.as_str(), "false" | "0" | "f" | "F" | "False" | "FALSE");
            match *flag {
                flag @ ENABLE_V1ALPHA1 if on => {
                    return Err(Unsupported { flag, reason: "these APIs are no longer served" });
                }
                flag @ TRAFFIC_MANAGER if on => {
                    let reason = "Azure Traffic Manager is not supported; set it to false, and \
                                  keep a Go agent for its profiles and backends";
                    return Err(Unsupported { flag, reason });
                }
                // It is off.
                ENABLE_V1ALPHA1 | TRAFFIC_MANAGER => {}
                flag => without.push(flag),
            }
        }
        Ok(without)
    }
}

impl Args for LegacyFlags {
    fn augment_args(mut command: Command) -> Command {
        let flag = |name: &'static str| {
            Arg::new(name).long(name).hide(true).value_parser(ValueParser::string())
        };
        for name in VALUES {
            command = command.arg(flag(name).action(ArgAction::Set));
        }
        for name in SWITCHES {
            let switch = flag(name).num_args(0..=1).require_equals(true);
            command = command.arg(switch.default_missing_value("true"));
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for LegacyFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = VALUES
            .into_iter()
            .chain(SWITCHES)
            .filter_map(|name| matches.get_one::<String>(name).map(|value| (name, value.clone())));
        Ok(Self(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Agent {
        #[command(flatten)]
        legacy_flags: LegacyFlags,
    }

    fn without_effect(flags: &[&str]) -> Result<Vec<&'static str>, String> {
        let flags = std::iter::once("agent").chain(flags.iter().copied());
        let agent = Agent::try_parse_from(flags).unwrap();
        agent.legacy_flags.without_effect().map_err(|error| error.to_string())
    }

    #[test]
    fn the_arguments_of_the_original_charts_are_taken() {
        assert_eq!(without_effect(&[]), Ok(vec![]));
        let flags = [
            "--v=2",
            "--add_dir_header",
            "--enable-v1beta1-apis=true",
            "--enable-traffic-manager-feature=false",
            "--enable-v1alpha1-apis=false",
            "--cloud-config=/etc/kubernetes/provider/azure.json",
            "--internalserviceexport-retry-interval",
            "2s",
        ];
        let mut without = without_effect(&flags).unwrap();
        without.sort_unstable();
        let names = ["add_dir_header", "cloud-config", "enable-v1beta1-apis"];
        assert_eq!(without[..3], names);
        assert_eq!(without[3..], ["internalserviceexport-retry-interval", "v"]);
    }

    #[test]
    fn what_these_agents_cannot_do_is_refused() {
        for flag in [ENABLE_V1ALPHA1, TRAFFIC_MANAGER] {
            for text in [format!("--{flag}"), format!("--{flag}=true")] {
                let error = without_effect(&[&text]).unwrap_err();
                assert!(error.starts_with(&format!("--{flag}: ")), "{error}");
            }
        }
    }
}
