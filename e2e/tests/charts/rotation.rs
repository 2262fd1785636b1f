//! The token for the hub is replaced in the Secret that is mounted into the Pods.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fleet_runtime::clock::Clock;
use fleet_testbed::exchange::wait_imported;
use fleet_testbed::pod::Running;
use fleet_testbed::rbac::member_on_hub;
use fleet_testbed::wait::{wait_for, wait_until};
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

/// For how many seconds the token that is renewed is good: it is renewed at half of its time.
const LASTS: i64 = 60;

/// The agent that `fleetctl` has joined renews its token with the rights of the charts, uses the new one before its volume has it,
/// and goes on after the end of the old one.
pub(crate) async fn an_agent_renews_its_token(
    fleet: &Fleet,
    agent: Option<&Running>,
    web: &ManualService,
) -> Result<()> {
    let (hub, west) = (fleet.hub(), fleet.west());
    let agent = agent.context("west's agent runs")?;
    let fresh = member_on_hub(west.name()).token(&hub.client()).await?;
    let plane = hub.control_plane().context("the hub is the testbed's")?;
    let old = plane.token_ending_at(&fresh, Clock::system().now().as_second() + LASTS)?;
    fleet.hand_over(west, &old).await?;
    agent.container().update(west).await?;
    let renewed = wait_for("a renewed token", DEADLINE, async || {
        let token = fleet.token_of(west).await?;
        Ok((token != old).then_some(token))
    });
    let renewed = renewed.await?;
    let lives = |token: &str| -> Result<i64> {
        let claims = claims_of(token)?;
        let number = |name: &str| claims[name].as_i64().context("a time");
        Ok(number("exp")? - number("iat")?)
    };
    ensure!(lives(&renewed)? == 24 * 3600, "a token of a day: {}", claims_of(&renewed)?);
    ensure!(claims_of(&renewed)?["aud"] == claims_of(&fresh)?["aud"], "of the same audience");
    // The file still has the old one.
    let id = format!("JTI={}", id_of(&renewed)?);
    let log = hub.audit_log_path().context("an audit log")?;
    wait_until("requests with the renewed token", DEADLINE, async || {
        let address = next_address();
        web.set_addresses(std::slice::from_ref(&address)).await?;
        wait_imported(west, SHOP, WEB, &BTreeSet::from([address]), DEADLINE).await?;
        Ok(std::fs::read_to_string(&log)?.lines().any(|line| line.contains(&id)))
    })
    .await?;
    agent.container().update(west).await
}

/// What a token contains.
fn claims_of(token: &str) -> Result<Value> {
    let claims = token.split('.').nth(1).context("a token has three parts")?;
    Ok(serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims)?)?)
}

/// What audit logs know a token by.
fn id_of(token: &str) -> Result<String> {
    Ok(claims_of(token)?["jti"].as_str().context("an id")?.to_owned())
}
