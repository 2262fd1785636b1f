//! What this member does with Pods of others, and with Pods for others.

use std::net::IpAddr;

use fleet_model::cidr::Cidrs;

/// What this member does with Pods of others, and with Pods for others. Nothing by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VirtualNodes {
    /// Whether Pods of this cluster run in other members, on the virtual nodes that stand for them.
    pub origin: bool,
    /// Whether Pods of other members run in this cluster.
    pub executor: bool,
    /// Address of the virtual nodes.
    pub address: Option<IpAddr>,
    /// Ranges of Pods that may reach the Pods of other members here; none may if there is none.
    pub clients: Cidrs,
}

impl VirtualNodes {
    /// Whether any of it is on.
    pub fn is_on(&self) -> bool {
        self.origin || self.executor
    }
}
