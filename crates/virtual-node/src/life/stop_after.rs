//! Pods that end by themselves when their executor is cut off.
//!
//! The executor counts on its own clock, from when it last had a sign of the origin or of the hub; the origin on its own, from
//! when it last had one of the executor, which is no earlier. With a margin for what a stop takes, the origin can then replace a
//! Pod without a confirmation and never has two of them.
//!
//! The margin covers one failure beside the cut: that the process which would stop the Pods ends just then. With the usual times
//! another one leads 32 s later, tries to reach the hub for 15 s, and gives containers 10 s. It also covers a hub agent that ends
//! when an origin is cut off: the next one notices the silence 32 s later.

use std::time::Duration;

use fleet_api::offload::Disconnect;

/// What the origin waits in addition: for the executor to stop the Pod, even if another process has to begin to lead there first.
const MARGIN: Duration = Duration::from_mins(1);

/// An executor that reaches the hub learns that it has no sign of the origin when the hub agent notices: so long after the last one.
/// Origins count on this time, so that no hub agent may have another one.
pub const NOTICED: Duration = Duration::from_mins(1);

/// How many seconds an executor gives the containers of a Pod that it stops at most: they have ended within the margin.
pub const CUT_OFF_GRACE_SECONDS: i64 = 10;

/// Whether an executor stops a Pod whose origin, or the hub, has given no sign for so long.
pub fn stops(disconnect: Disconnect, silent: Option<Duration>) -> bool {
    let after = disconnect.stop_after().map(Duration::from_secs);
    after.zip(silent).is_some_and(|(after, silent)| silent >= after)
}

/// Whether an origin knows that its executor, which has given no sign for so long, has stopped a Pod.
pub fn has_ended(disconnect: Disconnect, silent: Option<Duration>) -> bool {
    ends_in(disconnect, silent).is_some_and(|rest| rest.is_zero())
}

/// Time until the origin knows that; `None` if it will not.
pub(super) fn ends_in(disconnect: Disconnect, silent: Option<Duration>) -> Option<Duration> {
    let after = Duration::from_secs(disconnect.stop_after()?).max(NOTICED) + MARGIN;
    Some(after.saturating_sub(silent?))
}
