//! Kinds of `cluster.kubernetes-fleet.io/v1beta1` that the agents use.
//!
//! They belong to KubeFleet, which has more fields. Only those the agents read or write are named
//! here; the others are kept as they are.

mod internal_member_cluster;
mod member_cluster;

pub use internal_member_cluster::{
    AgentStatus, AgentType, ClusterState, InternalMemberCluster, InternalMemberClusterSpec,
    InternalMemberClusterStatus,
};
pub use member_cluster::{MemberCluster, MemberClusterSpec, MemberClusterStatus};
