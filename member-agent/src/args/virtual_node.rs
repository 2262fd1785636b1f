//! Flags of virtual nodes.

use std::net::IpAddr;

use clap::ArgAction;
use fleet_model::cidr::Cidrs;

use crate::VirtualNodes;

/// What this member does with Pods of others, and with Pods for others.
#[derive(clap::Args, Clone, Debug)]
pub struct VirtualNodeArgs {
    /// Run Pods of this cluster in other members: on virtual nodes, one for each member that offers it and that is accepted here.
    /// Requires --member-lease and definitions of offloading on the hub.
    #[arg(
        long,
        env = "VIRTUAL_NODE_ORIGIN",
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = false,
        default_missing_value = "true"
    )]
    pub virtual_node_origin: bool,

    /// Run Pods of other members in this cluster, as its administrators offer it. Requires --member-lease and definitions of
    /// offloading on the hub.
    #[arg(
        long,
        env = "VIRTUAL_NODE_EXECUTOR",
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = false,
        default_missing_value = "true"
    )]
    pub virtual_node_executor: bool,

    /// Address of the virtual nodes in this cluster, and of the hosts of their Pods. By default they have none.
    #[arg(long, env = "VIRTUAL_NODE_ADDRESS", value_name = "ADDRESS")]
    pub virtual_node_address: Option<IpAddr>,

    /// Ranges of Pods that may reach Pods of other members in this cluster: those of the fleet. By default none may.
    #[arg(
        long,
        env = "VIRTUAL_NODE_CLIENT_CIDRS",
        default_value = "",
        hide_default_value = true,
        value_name = "CIDRS"
    )]
    pub virtual_node_client_cidrs: Cidrs,
}

impl VirtualNodeArgs {
    /// The settings that the flags give.
    pub(super) fn settings(&self) -> VirtualNodes {
        VirtualNodes {
            origin: self.virtual_node_origin,
            executor: self.virtual_node_executor,
            address: self.virtual_node_address,
            clients: self.virtual_node_client_cidrs.clone(),
        }
    }
}
