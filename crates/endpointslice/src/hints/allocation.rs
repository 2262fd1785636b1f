//! Computes how many endpoints each zone should get.

use std::collections::BTreeMap;

use crate::Cause;

use super::zones::Zones;

/// Fraction by which a zone may be loaded above its share.
const OVERLOAD: f64 = 0.2;

/// Number of endpoints that a zone should get.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Allocation {
    pub(super) desired: f64,
    pub(super) maximum: usize,
}

/// Why no hints are assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) cause: Cause,
    /// Number of endpoints and of zones, where these are the reason.
    pub(super) sizes: Option<(usize, usize)>,
}

impl Refusal {
    pub(super) fn new(cause: Cause) -> Self {
        Self { cause, sizes: None }
    }
}

/// Computes the allocation of each zone for `ready` endpoints.
pub(super) fn allocate(zones: &Zones, ready: usize) -> Result<BTreeMap<&str, Allocation>, Refusal> {
    let Zones::Shares(shares) = zones else { return Err(Refusal::new(Cause::NodeInfo)) };
    if shares.len() < 2 {
        return Err(Refusal::new(Cause::OneZone));
    }
    let sizes = Some((ready, shares.len()));
    if shares.len() > ready {
        return Err(Refusal { cause: Cause::TooFewEndpoints, sizes });
    }
    let reserved: usize = shares.values().map(|share| least(*share, ready)).sum();
    let Some(spare) = ready.checked_sub(reserved) else {
        return Err(Refusal { cause: Cause::OverloadThreshold, sizes });
    };
    let allocation = |share: f64| {
        let minimum = least(share, ready);
        Allocation { desired: (share * float(ready)).max(float(minimum)), maximum: minimum + spare }
    };
    Ok(shares.iter().map(|(zone, share)| (zone.as_str(), allocation(*share))).collect())
}

/// Minimum number out of `total` endpoints with which a zone of this share is not overloaded.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and total, and whole"
)]
pub(super) fn least(share: f64, total: usize) -> usize {
    (share * float(total) * (1.0 / (1.0 + OVERLOAD))).ceil() as usize
}

/// Endpoints are counted in thousands.
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
pub(super) fn float(count: usize) -> f64 {
    count as f64
}
