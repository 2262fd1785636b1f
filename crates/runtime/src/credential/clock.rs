//! The time that tokens are judged by.

use jiff::Timestamp;

use crate::clients::Credential;
use crate::clock::Clock;

/// The time at the API server, or, before its first answer, here.
pub fn now(credential: &Credential, clock: &Clock) -> Timestamp {
    credential.server_time().unwrap_or_else(|| clock.now())
}
