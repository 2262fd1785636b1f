//! Flags of the token for the hub.

use std::time::Duration;

use clap::Args;
use fleet_runtime::args::duration;
use fleet_runtime::credential::{SecretKey, TokenSettings};

/// Shortest lifetime that an API server grants.
const SHORTEST: Duration = Duration::from_mins(10);
/// Longest lifetime that an API server accepts in a request.
const LONGEST: u64 = 1 << 32;

/// How the token for the hub is renewed.
#[derive(Args, Clone, Debug)]
pub struct HubTokenArgs {
    /// Secret of this cluster that the file CONFIG_PATH is mounted from, as namespace/name or namespace/name/key; the key is
    /// `token` by default. The agent renews the token there every hour. If not set, another party has to renew it.
    #[arg(long, env = "HUB_TOKEN_SECRET", value_name = "NAMESPACE/NAME")]
    pub hub_token_secret: Option<SecretKey>,

    /// Lifetime of the tokens that the agent requests, at least 10m. The hub may shorten it.
    #[arg(
        long,
        env = "HUB_TOKEN_LIFETIME",
        default_value = "24h",
        value_name = "DURATION",
        value_parser = lifetime
    )]
    pub hub_token_lifetime: Duration,

    /// Audiences of the tokens that the agent requests, separated by commas; by default those of the hub's API server.
    #[arg(
        long,
        env = "HUB_TOKEN_AUDIENCES",
        value_name = "AUDIENCES",
        value_delimiter = ',',
        num_args = 0..
    )]
    pub hub_token_audiences: Vec<String>,
}

impl HubTokenArgs {
    /// What tokens are requested.
    pub fn settings(&self) -> TokenSettings {
        let audiences = self.hub_token_audiences.iter().map(|audience| audience.trim());
        let audiences = audiences.filter(|audience| !audience.is_empty());
        TokenSettings {
            lifetime: self.hub_token_lifetime,
            audiences: audiences.map(str::to_owned).collect(),
        }
    }
}

fn lifetime(text: &str) -> Result<Duration, String> {
    let lifetime = duration(text)?;
    if lifetime < SHORTEST || lifetime.as_secs() > LONGEST {
        return Err("it must be at least 10m, and at most 136 years".to_owned());
    }
    Ok(lifetime)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::args::Args;

    fn settings(flags: &[&str]) -> Result<super::HubTokenArgs, clap::Error> {
        let flags = ["member-agent"].iter().chain(flags);
        Ok(Args::try_parse_from(flags)?.hub_token)
    }

    #[test]
    fn tokens_of_a_day_for_the_hub_itself_are_the_default() {
        let default = settings(&[]).unwrap();
        assert_eq!(default.hub_token_secret, None);
        assert_eq!(default.settings().lifetime.as_secs(), 24 * 3600);
        assert!(default.settings().audiences.is_empty());
        let given = settings(&[
            "--hub-token-secret=fleet-system/hub",
            "--hub-token-lifetime=10m",
            "--hub-token-audiences=https://hub, other,",
        ]);
        let given = given.unwrap();
        assert_eq!(given.hub_token_secret.as_ref().unwrap().to_string(), "fleet-system/hub/token");
        assert_eq!(given.settings().lifetime.as_secs(), 600);
        assert_eq!(given.settings().audiences, ["https://hub", "other"]);
    }

    #[test]
    fn what_no_hub_would_grant_is_refused() {
        for wrong in [
            "--hub-token-secret=hub",
            "--hub-token-secret=a/../b",
            "--hub-token-lifetime=9m",
            "--hub-token-lifetime=2000000h",
            "--hub-token-lifetime=1d",
        ] {
            let refused = settings(&[wrong]);
            assert!(refused.is_err(), "{wrong}");
        }
    }
}
