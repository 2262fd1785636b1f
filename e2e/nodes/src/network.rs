//! The network between nodes: a switch in a namespace of its own, so that neither the machine's bridges nor its packet
//! filter have a part in it, and one link from there to the machine, over which kubelets reach API servers.

use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::{Context, Result};
use fleet_testbed::controlplane::NodeAccess;
use fleet_testbed::state::RunDir;
use tokio::process::Command;

use crate::sandbox::{Sandbox, output};
use crate::slot::Slot;

/// ClusterIPs, the same in all clusters as in most fleets.
const SERVICE_RANGES: &str = "10.96.0.0/16,fd00:10:96::/112";
const KUBERNETES: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 1);
const SWITCH: &str = "switch";

/// Addresses of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// The machine's, which is the way to everything else.
    pub gateway: Ipv4Addr,
    /// The node's.
    pub node: Ipv4Addr,
    /// The node's of the other family.
    pub node_v6: String,
    /// Range of its Pods.
    pub pods: String,
    /// Range of their addresses of the other family.
    pub pods_v6: String,
}

/// The switch, and the link of the machine. Dropping it removes both.
#[derive(Debug)]
pub struct Network {
    // Before the slot: its processes are in the slot's groups.
    switch: Option<Sandbox>,
    slot: Slot,
}

impl Network {
    /// Takes addresses that no other run on this machine has. [`Self::connect`] comes next.
    pub fn claim() -> Result<Self> {
        Ok(Self { slot: Slot::claim()?, switch: None })
    }

    /// What control planes have to know before they start.
    pub fn access(&self) -> NodeAccess {
        NodeAccess {
            address: self.slot.gateway(),
            service_ranges: SERVICE_RANGES.to_owned(),
            kubernetes: KUBERNETES,
        }
    }

    /// Control group for containers.
    pub fn cgroup(&self) -> String {
        self.slot.cgroup()
    }

    /// Name of the machine's link.
    pub fn link(&self) -> String {
        self.slot.link()
    }

    /// Starts the switch and connects the machine to it.
    pub async fn connect(&mut self, folder: &Path, run: &RunDir) -> Result<()> {
        let script = format!(
            "ip link set lo up\nip link add {SWITCH} type bridge stp_state 0 forward_delay 0\nip link set {SWITCH} up"
        );
        let switch =
            Sandbox::start(SWITCH, folder, &script, run).await.context("start the switch")?;
        let (link, gateway) = (self.slot.link(), self.slot.gateway());
        // Left by a run whose namespace the kernel is still removing.
        let _ = ip(&["link", "delete", &link]).await;
        plug(&switch, "machine", &[&link]).await?;
        ip(&["address", "add", &format!("{gateway}/24"), "dev", &link]).await?;
        ip(&["link", "set", &link, "up"]).await?;
        self.switch = Some(switch);
        Ok(())
    }

    /// Addresses of a node, counted from 0.
    pub fn addresses(&self, node: u8) -> Addresses {
        Addresses {
            gateway: self.slot.gateway(),
            node: self.slot.node(node),
            node_v6: self.slot.node_v6(node),
            pods: format!("10.{}.0.0/24", 200 + node),
            pods_v6: format!("fd00:10:{}::/64", 200 + node),
        }
    }

    /// Puts a link to the switch into a node's namespace, named `eth0`.
    pub async fn plug_in(&self, node: &Sandbox, number: u8) -> Result<()> {
        let switch = self.switch.as_ref().context("the switch is not started")?;
        let (port, node) = (format!("node{number}"), node.pid().to_string());
        plug(switch, &port, &["eth0", "netns", &node]).await
    }
}

/// Connects a new port of the switch with a new link, whose name and namespace are `far`.
async fn plug(switch: &Sandbox, port: &str, far: &[&str]) -> Result<()> {
    let pid = switch.pid().to_string();
    let near = ["link", "add", port, "netns", &pid, "type", "veth", "peer", "name"];
    ip(&[&near, far].concat()).await?;
    switch.run("ip", &["link", "set", port, "master", SWITCH, "up"]).await.map(drop)
}

async fn ip(arguments: &[&str]) -> Result<String> {
    let ran = output(Command::new("ip").args(arguments)).await;
    ran.with_context(|| format!("ip {}", arguments.join(" ")))
}
