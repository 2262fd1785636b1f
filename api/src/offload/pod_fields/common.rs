//! What Pods and containers have in common.

use super::rule::Rule::{Copy, Drop, Reject, RejectValue};
use super::rule::Shape::{Choice, Text};
use super::rule::{Record, Shape, field};
use crate::offload::Refusal;

/// Most seconds of any period in a Pod.
pub(super) const SECONDS: i64 = 2_147_483_647;
/// Highest id of a user or group.
pub(super) const ID: i64 = 2_147_483_647;

const PROFILE_TYPE: Shape = Choice(&["RuntimeDefault", "Localhost"]);

/// A profile of seccomp or AppArmor.
pub(super) const LOCAL_PROFILE: Record = Record {
    fields: &[
        field("localhostProfile", Copy(Text(253))),
        field("type", RejectValue("Unconfined", Refusal::PodSecurity, PROFILE_TYPE)),
    ],
    otherwise: Refusal::UnknownField,
};

/// The level is that of a cluster, some of which set it on every Pod; the executor's sets its own.
pub(super) const SE_LINUX: Record = Record {
    fields: &[
        field("level", Drop),
        field("role", Reject(Refusal::PodSecurity)),
        field("type", Reject(Refusal::PodSecurity)),
        field("user", Reject(Refusal::PodSecurity)),
    ],
    otherwise: Refusal::UnknownField,
};
