//! Pods that end by themselves when their executor is cut off.
//!
//! The executor counts on its own clock, from when it last had a sign of the origin or of the hub; the origin on its own, from
//! when it last had one of the executor, which is no earlier. With a margin for what a stop takes, the origin can then replace a
//! Pod without a confirmation and never has two of them.

use std::time::Duration;

use fleet_api::offload::Disconnect;

/// What the origin waits in addition: for the executor to stop the Pod.
const MARGIN: Duration = Duration::from_secs(30);

/// Whether an executor stops a Pod whose origin, or the hub, has given no sign for so long.
pub fn stops(disconnect: Disconnect, silent: Option<Duration>) -> bool {
    reached(disconnect, silent, Duration::ZERO)
}

/// Whether an origin knows that its executor, which has given no sign for so long, has stopped a Pod.
pub fn has_ended(disconnect: Disconnect, silent: Option<Duration>) -> bool {
    reached(disconnect, silent, MARGIN)
}

/// Time until the origin knows that; `None` if it will not.
pub(super) fn ends_in(disconnect: Disconnect, silent: Option<Duration>) -> Option<Duration> {
    let after = Duration::from_secs(disconnect.stop_after()?) + MARGIN;
    Some(after.saturating_sub(silent?))
}

fn reached(disconnect: Disconnect, silent: Option<Duration>, margin: Duration) -> bool {
    let after = disconnect.stop_after().map(Duration::from_secs);
    after.zip(silent).is_some_and(|(after, silent)| silent >= after + margin)
}
