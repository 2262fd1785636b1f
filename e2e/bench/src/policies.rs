//! The same endpoint change with the hub's admission policies and without them, in turns.

use anyhow::Result;

use super::change_path::{ChangePath, EXPORTER};
use super::latency::{Course, Series, withdraw};
use fleet_testbed::fleet::Fleet;
use fleet_testbed::policies;

/// How often the policies come and go: others at work on the machine disturb both kinds alike.
const TURNS: usize = 4;

/// Services whose endpoints the agents carry, one for each kind of turn.
const UNCHECKED: &str = "unchecked";
const CHECKED: &str = "checked";

/// Times of changes without policies, and with them.
pub(super) struct Comparison {
    pub(super) without: Series,
    pub(super) with: Series,
}

/// Times as many changes of each kind, and leaves the hub with policies, as it is shipped.
pub(super) async fn compare(
    path: &ChangePath,
    fleet: &Fleet,
    namespace: &str,
    changes: usize,
) -> Result<Comparison> {
    let mut without = Course::steady(path, fleet, (namespace, UNCHECKED)).await?;
    let mut with = Course::steady(path, fleet, (namespace, CHECKED)).await?;
    let member = fleet.member(EXPORTER).name();
    for _ in 0..TURNS {
        with.warm_up(path).await?;
        with.block(path, changes.div_ceil(TURNS)).await?;
        policies::remove(fleet.hub(), member).await?;
        without.warm_up(path).await?;
        without.block(path, changes.div_ceil(TURNS)).await?;
        policies::install(fleet.hub(), member).await?;
    }
    withdraw(fleet, (namespace, &[UNCHECKED, CHECKED])).await?;
    Ok(Comparison { without: without.take_series()?, with: with.take_series()? })
}
