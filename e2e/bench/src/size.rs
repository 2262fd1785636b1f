//! What single changes notice of a fleet that is large or busy, and a thousand Services at once.

use std::time::Duration;

use anyhow::Result;
use fleet_api::kinds;

use super::bulk::Services;
use super::change_path::{ChangePath, EXPORTER};
use super::latency::Course;
use super::turns::{Beside, Turns};
use fleet_testbed::fleet::Fleet;
use fleet_testbed::quota;

/// Services of the small fleet and of the large one.
const SMALL: usize = 10;
const LARGE: usize = 1000;
/// How often the one busy Service changes.
const HOT: Duration = Duration::from_millis(20);
/// Namespaces of the users who are beside.
const FEW: &str = "bench-few";
const MANY: &str = "bench-many";
const BUSY: &str = "bench-busy";
const IDLE: &str = "bench-idle";
/// The Service that is measured, and the busy one.
const MEASURED: &str = "measured";
const NOISY: &str = "noisy";

/// Everything that was measured.
pub(super) struct Sizes {
    /// Alone, then in larger and larger fleets.
    pub(super) fleets: Vec<Beside>,
    /// In the largest of them, beside others that should not matter.
    pub(super) disturbed: Vec<Beside>,
    /// Until all slices of [`LARGE`] Services were bound.
    pub(super) import: Duration,
    /// Until a change of each of them had arrived.
    pub(super) burst: Duration,
}

/// What a member may export beside so many Services that are idle.
pub(super) fn most_exported(idle: usize) -> usize {
    idle + 2 * LARGE
}

/// Measures `samples` changes beside each; `idle` exported Services, if any, come last. What is made stays: to take
/// it away is no part of the measurement, and longer than that.
pub(super) async fn measure(
    path: &ChangePath,
    fleet: &Fleet,
    namespace: &str,
    (samples, idle): (usize, usize),
) -> Result<Sizes> {
    for space in [FEW, MANY, BUSY, IDLE] {
        fleet.user_namespace(space).await?;
    }
    let mut turns = Turns {
        path,
        chain: Course::chain(path).await?,
        steady: Course::steady(path, fleet, (namespace, MEASURED)).await?,
        samples,
    };
    let mut fleets = vec![turns.beside("1 Service").await?];
    Services::make(path, FEW, SMALL).await?.import(path).await?;
    fleets.push(turns.beside("10 Services").await?);
    let mut large = Services::make(path, MANY, LARGE).await?;
    let import = large.import(path).await?;
    let (burst, _) = large.burst(path).await?;
    fleets.push(turns.beside("1000 Services").await?);
    let mut noisy = Course::steady(path, fleet, (BUSY, NOISY)).await?;
    let mut disturbed = vec![tokio::select! {
        latency = turns.beside("one changes 50 times a second") => latency?,
        ended = noisy.change_every(path, HOT) => match ended? {},
    }];
    if idle > 0 {
        // The quota that the chart gives a member ends there, too: its admin has raised it, as the hub agent's own limit.
        let (member, count) = (fleet.member(EXPORTER).name(), most_exported(idle));
        quota::raised(&fleet.hub().client(), member, (kinds::INTERNAL_SERVICE_EXPORT, count))
            .await?;
        Services::make(path, IDLE, idle).await?.export(path).await?;
        disturbed.push(turns.beside("exported and idle").await?);
    }
    Ok(Sizes { fleets, disturbed, import, burst })
}
