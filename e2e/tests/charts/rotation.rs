//! The token for the hub is replaced in the Secret that is mounted into the Pods.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fleet_testbed::exchange::wait_imported;
use fleet_testbed::pod::Running;
use fleet_testbed::rbac::member_on_hub;
use fleet_testbed::wait::wait_until;
use fleet_testbed::workload::{ManualService, next_address};
use serde_json::Value;

use crate::crossing::{SHOP, WEB};
use crate::fleet::{DEADLINE, Fleet};

/// East's agent goes on with the next token as soon as it is in its volume.
pub(crate) async fn a_token_is_replaced(
    fleet: &Fleet,
    agent: &Running,
    web: &ManualService,
) -> Result<()> {
    let (hub, east) = (fleet.hub(), fleet.east());
    let account = member_on_hub(east.name());
    let token = account.token(&hub.client()).await?;
    let id = format!("JTI={}", id_of(&token)?);
    fleet.hand_over(east, &token).await?;
    agent.container().update(east).await?;
    let log = hub.audit_log_path().context("an audit log")?;
    wait_until("a write with the next token", DEADLINE, async || {
        let address = next_address();
        web.set_addresses(std::slice::from_ref(&address)).await?;
        wait_imported(fleet.west(), SHOP, WEB, &BTreeSet::from([address]), DEADLINE).await?;
        let log = std::fs::read_to_string(&log)?;
        let mut requests = log.lines().filter(|line| line.contains(&id));
        Ok(requests.any(|request| request.contains(r#""resource":"endpointsliceexports""#)))
    })
    .await
}

/// What audit logs know a token by.
fn id_of(token: &str) -> Result<String> {
    let claims = token.split('.').nth(1).context("a token has three parts")?;
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims)?)?;
    Ok(claims["jti"].as_str().context("an id")?.to_owned())
}
