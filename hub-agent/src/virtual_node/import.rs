//! An import, and how long its origin has given no sign of life.

use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::names::member_of_namespace;
use fleet_api::offload::LinkState;
use fleet_model::objects::offload::PodImport;
use fleet_plan::Plan;
use fleet_plan::deadline::remaining;
use fleet_virtual_node::hub::{Destination, HubImport};
use jiff::Timestamp;

use super::members;
use crate::snapshot::HubSnapshot;

/// Time after which an origin without a sign of life is gone for good, where no offer has a time.
const ORIGIN_TTL: Duration = Duration::from_hours(24);

/// No executor, for an import whose export is gone.
pub(super) fn nowhere() -> Destination<'static> {
    Destination::default()
}

pub(super) fn hub_import(import: &Object<PodImport>) -> HubImport {
    HubImport {
        spec: import.to_spec(),
        status: import.status.clone(),
        deleting: import.meta.is_terminating(),
    }
}

/// Whether an executor has a Pod for it that uses something, or is to have one: as its quota counts.
pub(super) fn takes_place(import: &PodImport) -> bool {
    match &import.status.remote {
        Some(remote) => remote.loss.is_none() && !remote.phase.is_terminal(),
        None => import.status.rejected.is_none(),
    }
}

/// Whether its origin has given no sign of life for so long that its Pods are stopped for good. Both times are of the hub agent's
/// clock. If it is not so long yet, the Pod is planned again when it is.
pub(super) fn silent_for_good(
    origin: &str,
    import: &Object<PodImport>,
    snapshot: &HubSnapshot,
    now: Timestamp,
    plan: &mut Plan,
) -> bool {
    let Some(executor) = member_of_namespace(&import.name.namespace) else { return false };
    let offers = members::offers(executor, snapshot);
    let silence = offers.iter().find_map(|offer| {
        let links = &offer.status.origins;
        let link = links.iter().find(|link| link.cluster == *origin)?;
        let ttl = u64::try_from(offer.spec.origin_ttl_seconds).map(Duration::from_secs);
        // One that renews its Lease again lives, even if its verdict lasts until it has returned as a whole.
        let is_silent = link.state == LinkState::Silent && link.standing() == LinkState::Silent;
        is_silent.then(|| (link.since.0, ttl.unwrap_or(ORIGIN_TTL)))
    });
    silence.is_some_and(|(since, ttl)| is_over(since, ttl, now, plan))
}

/// Whether a period is over, after which something ends for good. If not, the Pod is planned again when it is.
pub(super) fn is_over(since: Timestamp, period: Duration, now: Timestamp, plan: &mut Plan) -> bool {
    // A clock that was set back has shown nothing.
    let rest = if since > now { Some(period) } else { remaining(since, period, now) };
    if let Some(rest) = rest {
        plan.wake_within(rest);
    }
    rest.is_none()
}
