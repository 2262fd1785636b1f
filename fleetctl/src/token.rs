//! The token that a member joins with: bound, or, by explicit choice, one that never expires.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use fleet_accumulator::one_line;
use fleet_api::ResourceKind;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::args::{DAY, JoinArgs, Print};
use crate::objects::{apply, find};
use crate::output::report;

/// Seconds of an hour.
const HOUR: i64 = 3600;
/// Secret on the hub with a token that never expires; the hub's chart calls it so, too.
const LONG_LIVED: &str = "member-agent-token";
/// Longest time in which the hub fills such a Secret.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause between two reads.
const LOOK: Duration = Duration::from_millis(100);
/// The kind of a Secret.
const SECRET: ResourceKind =
    ResourceKind { group: "", version: "v1", kind: "Secret", plural: "secrets", namespaced: true };

/// Makes a token of an account, and reports how long it is valid.
pub(crate) async fn make(client: &Client, account: &Value, args: &JoinArgs) -> Result<String> {
    let text = |field: &str| account["metadata"][field].as_str().unwrap_or_default().to_owned();
    let (namespace, name) = (text("namespace"), text("name"));
    if args.long_lived_token {
        return long_lived(client, &namespace, &name).await;
    }
    let token = bound(client, &namespace, &name, args).await?;
    // A user who may not read Secrets gets no hint.
    if let Ok(Some(_)) = find(client, SECRET, Some(&namespace), LONG_LIVED).await {
        report(&format!(
            "The Secret {namespace}/{LONG_LIVED} on the hub has a token that never expires: delete it when no agent uses it any more"
        ));
    }
    Ok(token)
}

async fn bound(client: &Client, namespace: &str, name: &str, args: &JoinArgs) -> Result<String> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let spec = TokenRequestSpec {
        expiration_seconds: Some(i64::from(args.token_hours) * HOUR),
        audiences: audiences(args),
        ..TokenRequestSpec::default()
    };
    let request = TokenRequest { spec, ..TokenRequest::default() };
    let answer = accounts.create_token_request(name, &PostParams::default(), &request).await;
    let answer = answer.map_err(|error| anyhow::anyhow!("get a token: {}", one_line(&error)))?;
    let status = answer.status.context("the API server returned no token")?;
    let renewal = match args.print {
        Print::Kubeconfig | Print::Token => {
            "in this form no agent renews it: run join again before"
        }
        _ => "the member agent renews it every hour (agents of release 0.1 do not)",
    };
    report(&format!("The token is valid until {}; {renewal}", status.expiration_timestamp.0));
    Ok(status.token)
}

async fn long_lived(client: &Client, namespace: &str, name: &str) -> Result<String> {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": {
            "name": LONG_LIVED, "namespace": namespace,
            "annotations": { "kubernetes.io/service-account.name": name },
        },
    });
    apply(client, &secret, false).await?;
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let filled = async {
        loop {
            let data = secrets.get(LONG_LIVED).await.map(|secret| secret.data.unwrap_or_default());
            let data =
                data.map_err(|error| anyhow::anyhow!("read the token: {}", one_line(&error)))?;
            if let Some(token) = data.get("token") {
                return anyhow::Ok(String::from_utf8(token.0.clone())?);
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    let Ok(token) = tokio::time::timeout(PATIENCE, filled).await else {
        bail!("the hub has put no token into the Secret {namespace}/{LONG_LIVED}");
    };
    report(&format!(
        "The token never expires. To revoke it, delete the Secret {namespace}/{LONG_LIVED} on the hub"
    ));
    token
}

fn audiences(args: &JoinArgs) -> Vec<String> {
    let audiences = args.token_audiences.iter().map(|audience| audience.trim().to_owned());
    audiences.filter(|audience| !audience.is_empty()).collect()
}

/// How the chart's agent is to renew the token, where that is not its default.
pub(crate) fn renewed(args: &JoinArgs) -> Option<Value> {
    let audiences = audiences(args);
    let mut values = json!({});
    if args.token_hours != DAY {
        values["lifetime"] = format!("{}h", args.token_hours).into();
    }
    if !audiences.is_empty() {
        values["audiences"] = audiences.into();
    }
    let is_default = values.as_object().is_some_and(serde_json::Map::is_empty);
    (!is_default).then_some(values)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Cli, Command};

    fn args(more: &[&str]) -> Result<JoinArgs, clap::Error> {
        let words = ["fleetctl", "join", "east"].iter().chain(more);
        match Cli::try_parse_from(words)?.command {
            Command::Join(args) => Ok(args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_chart_renews_as_join_was_told() {
        assert_eq!(renewed(&args(&[]).unwrap()), None);
        assert_eq!(renewed(&args(&["--long-lived-token"]).unwrap()), None);
        let told = args(&["--token-hours=1", "--token-audiences=https://hub, b,"]).unwrap();
        let expected = json!({ "lifetime": "1h", "audiences": ["https://hub", "b"] });
        assert_eq!(renewed(&told), Some(expected));
    }

    #[test]
    fn a_token_that_never_expires_has_no_lifetime() {
        for more in ["--token-hours=1", "--token-audiences=a"] {
            assert!(args(&["--long-lived-token", more]).is_err(), "{more}");
        }
        assert!(args(&["--token-hours=0"]).is_err());
    }
}
