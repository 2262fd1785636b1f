//! What the API server of an executor does not accept about a Pod.

use std::time::Duration;

use fleet_api::offload::{PodImportStatus, PodRejection, Refusal};

use crate::pod::Rejection;

/// What an API server states about a quota that is used up.
const QUOTA: &str = "exceeded quota: ";
/// Longest time between two tries.
const LONGEST: Duration = Duration::from_mins(1);

/// What the API server has refused about a Pod: admission, a quota and rights of the agent can change without any event, so it is
/// tried again without an end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// The words of the API server.
    pub message: String,
    /// Time until the next try.
    pub rest: Duration,
}

/// Time between a refusal and the next try, after so many in a row: a second at first, and a minute in the end.
pub fn retry_pause(refusals: u32) -> Duration {
    let doubled = Duration::from_secs(1).saturating_mul(1 << refusals.saturating_sub(1).min(6));
    doubled.min(LONGEST)
}

/// What is reported while something is still to be written for the spec with this hash. `refused` is what this process knows.
pub(super) fn report(
    refused: Option<&Refused>,
    status: &PodImportStatus,
    hash: &str,
) -> Option<PodRejection> {
    match refused {
        Some(refused) => {
            let is_quota = refused.message.contains(QUOTA);
            let reason = if is_quota { Refusal::QuotaExceeded } else { Refusal::RefusedByExecutor };
            Some(Rejection::new(reason, "spec").because(&refused.message).report(hash))
        }
        // A process that has just started knows nothing yet: what was reported is so until it has tried.
        None => earlier(status).filter(|earlier| earlier.hash == hash).cloned(),
    }
}

/// Whether a refusal is about the spec with this hash. One of which another version was refused is tried at once.
pub(super) fn concerns(status: &PodImportStatus, hash: &str) -> bool {
    earlier(status).is_none_or(|earlier| earlier.hash == hash)
}

fn earlier(status: &PodImportStatus) -> Option<&PodRejection> {
    let rejected = status.rejected.as_ref();
    rejected.filter(|rejected| rejected.reason.has_words_of_executor())
}

#[cfg(test)]
mod tests;
