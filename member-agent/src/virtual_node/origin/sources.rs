//! What the controller reads.

use fleet_accumulator::SourceSet;

use crate::snapshot::MemberSnapshot;

/// Without these nothing is planned: what is on the hub, and which Pods and Nodes there are.
pub(super) fn required() -> SourceSet {
    SourceSet::from([
        MemberSnapshot::offload_consent(),
        MemberSnapshot::virtual_pods(),
        MemberSnapshot::virtual_node_objects(),
        MemberSnapshot::offload_config_maps(),
        MemberSnapshot::virtual_nodes(),
        MemberSnapshot::pod_exports(),
    ])
}

/// Secrets are read only where both clusters allow that: their role may be missing. Which hub it is shows in the ClusterReport.
pub(super) fn reads() -> SourceSet {
    required().with(MemberSnapshot::offload_secrets()).with(MemberSnapshot::cluster_reports())
}
