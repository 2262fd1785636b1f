//! Virtual nodes, made of offers.

use std::collections::BTreeMap;

use fleet_api::offload::{
    OffloadOfferSpec, OffloadTerms, PROFILE_VERSION, VirtualNodePhase, VirtualNodeSpec,
};

/// A member that may run Pods elsewhere, as the hub knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selected {
    /// Its name.
    pub cluster: String,
    /// Labels that the hub's administrators gave it.
    pub labels: BTreeMap<String, String>,
    /// Whether its own administrators accept the executor.
    pub accepted: bool,
}

/// The virtual node of an executor for one member; `None` if there has been no offer to it. `before` is the one that there is: it
/// outlives its offer, since Pods may run.
///
/// Of several offers to the same member the first counts: the caller has them by age. A member is never its own executor.
pub fn virtual_node<'a>(
    executor: &str,
    offers: impl IntoIterator<Item = &'a OffloadOfferSpec>,
    member: &Selected,
    pod_cidrs: &[String],
    before: Option<&VirtualNodeSpec>,
) -> Option<VirtualNodeSpec> {
    let selects = |offer: &&OffloadOfferSpec| {
        executor != member.cluster && offer.origin_selector.selects(&member.cluster, &member.labels)
    };
    let Some(offer) = offers.into_iter().find(selects) else {
        let phase = VirtualNodePhase::Withdrawn;
        return before.map(|before| VirtualNodeSpec { phase, ..before.clone() });
    };
    let phase = match (member.accepted, offer.draining) {
        (false, _) => VirtualNodePhase::Offered,
        (true, false) => VirtualNodePhase::Accepted,
        (true, true) => VirtualNodePhase::Draining,
    };
    // The hub checks what crosses, too, by its own table.
    let profile_version = offer.terms.profile_version.min(PROFILE_VERSION);
    Some(VirtualNodeSpec {
        executor: executor.to_owned(),
        phase,
        capacity: offer.capacity.clone(),
        topology: offer.topology.clone(),
        terms: OffloadTerms { profile_version, ..offer.terms.clone() },
        pod_cidrs: pod_cidrs.to_vec(),
    })
}
