//! What the controller reads.

use fleet_accumulator::SourceSet;

use crate::snapshot::MemberSnapshot;

/// Without these nothing is planned.
pub(super) fn required() -> SourceSet {
    SourceSet::from([
        MemberSnapshot::offload_consent(),
        MemberSnapshot::namespaces(),
        MemberSnapshot::remote_pods(),
        // Nothing is decided by them; but what was written is to be seen before the next plan.
        MemberSnapshot::remote_config_maps(),
        MemberSnapshot::pod_imports(),
        MemberSnapshot::offload_offers(),
    ])
}

/// Whether this cluster is a member decides what it offers.
pub(super) fn reads() -> SourceSet {
    let of_membership = [MemberSnapshot::memberships(), MemberSnapshot::cluster_reports()];
    required().union(SourceSet::from(of_membership))
}
