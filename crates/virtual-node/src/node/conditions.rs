//! Conditions of a virtual node. `Ready` names the hop that does not work.

use fleet_api::conditions::offload_reasons as reasons;
use fleet_api::offload::VirtualNodePhase;
use jiff::Timestamp;

use crate::condition::Condition;
use crate::status::Link;

/// What the conditions depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeHealth {
    /// How far the virtual node is.
    pub phase: VirtualNodePhase,
    /// The link to the executor.
    pub link: Link,
}

/// Whether a node is ready, and why it is or is not. The first hop on the way to the executor that does not work is named.
pub fn ready_reason(health: NodeHealth) -> (bool, &'static str) {
    match health.phase {
        VirtualNodePhase::Offered => (false, reasons::NOT_ACCEPTED),
        VirtualNodePhase::Withdrawn => (false, reasons::OFFER_WITHDRAWN),
        VirtualNodePhase::Accepted | VirtualNodePhase::Draining => match health.link.reason() {
            Some(reason) => (false, reason),
            None => (true, reasons::EXECUTOR_READY),
        },
    }
}

/// The conditions that the agent writes; those of other types belong to other clients. A condition keeps its time while its
/// status is the same.
pub fn conditions(
    health: NodeHealth,
    executor: &str,
    present: &[Condition],
    now: Timestamp,
) -> Vec<Condition> {
    let (ready, reason) = ready_reason(health);
    let message = match reason {
        reasons::NOT_ACCEPTED => {
            format!("the hub has no offer of cluster {executor} that is accepted")
        }
        reasons::OFFER_WITHDRAWN => format!("cluster {executor} offers nothing any more"),
        _ => health.link.message(executor),
    };
    let no = |type_: &str, reason: &str| Condition::new(type_, false, reason, String::new());
    let all = [
        Condition::new("Ready", ready, reason, message),
        no("MemoryPressure", reasons::NO_PRESSURE),
        no("DiskPressure", reasons::NO_PRESSURE),
        no("PIDPressure", reasons::NO_PRESSURE),
        no("NetworkUnavailable", reasons::EXECUTOR_NETWORK),
    ];
    all.into_iter().map(|one| one.since(present, now)).collect()
}
