//! A pause for a virtual node whose executor could not place a Pod: one big node hides that its capacity is in pieces.

use std::time::Duration;

/// For how long a remote Pod may be unschedulable before it fails.
pub const PENDING_TIMEOUT: Duration = Duration::from_mins(5);
/// The first pause.
const FIRST: Duration = Duration::from_mins(1);
/// The longest.
const LONGEST: Duration = Duration::from_mins(15);

/// What is left of the pause after that many Pods in a row that could not be placed, the last of them so long ago.
pub fn pause(failures: u32, since_last: Duration) -> Option<Duration> {
    let doubled = failures.checked_sub(1).map(|times| 2_u32.saturating_pow(times))?;
    let pause = FIRST.saturating_mul(doubled).min(LONGEST);
    pause.checked_sub(since_last).filter(|rest| !rest.is_zero())
}
