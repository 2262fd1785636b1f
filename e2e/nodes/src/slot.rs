//! Addresses on this machine that belong to one run at a time.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::net::Ipv4Addr;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Locks of slots in use. A lock ends with its process, however that ends.
const LOCKS: &str = "/run/fleet-nodes";
const ROUTES: &str = "/proc/net/route";
const SLOTS: u8 = 64;

/// One of a fixed number of ranges, names and folders, held until it is dropped.
///
/// Only the network between the nodes is visible to the machine, as 100.64.<slot>.0/24 (shared address space, RFC 6598);
/// Pods and ClusterIPs have addresses inside of the nodes' namespaces only, the same in every run.
#[derive(Debug)]
pub struct Slot {
    number: u8,
    _lock: File,
}

impl Slot {
    /// Takes the first slot that no other process has, and whose addresses the machine has no other use for.
    pub fn claim() -> Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(LOCKS)
            .context("make the folder of locks")?;
        let routes = fs::read_to_string(ROUTES).with_context(|| format!("read {ROUTES}"))?;
        for number in 0..SLOTS {
            if let Some(slot) =
                Self::lock(number)?.filter(|slot| !slot.is_routed_elsewhere(&routes))
            {
                slot.remove_cgroups();
                return Ok(slot);
            }
        }
        bail!("all {SLOTS} ranges of addresses for nodes are in use; their locks are in {LOCKS}")
    }

    /// A slot unless another process has it.
    fn lock(number: u8) -> Result<Option<Self>> {
        let path = Path::new(LOCKS).join(number.to_string());
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = file.with_context(|| format!("open {}", path.display()))?;
        // Not `then_some`: what is dropped removes the groups of the run that has it.
        Ok(file.try_lock().is_ok().then(|| Self { number, _lock: file }))
    }

    /// Whether the machine has a route to an address of the slot or through one: a virtual private network or a provider
    /// may use this space too. The link that a killed run left does not count.
    fn is_routed_elsewhere(&self, routes: &str) -> bool {
        let range = &self.gateway().octets()[..3];
        // An address is a number in the byte order of the machine, written in hexadecimal digits.
        let inside = |field: &&str| {
            u32::from_str_radix(field, 16).is_ok_and(|address| address.to_ne_bytes()[..3] == *range)
        };
        routes.lines().skip(1).any(|route| {
            let mut fields = route.split_whitespace();
            fields.next() != Some(self.link().as_str())
                && fields.take(2).any(|field| inside(&field))
        })
    }

    /// The machine's address in the network of the nodes, where API servers listen.
    pub fn gateway(&self) -> Ipv4Addr {
        Ipv4Addr::new(100, 64, self.number, 1)
    }

    /// The address of a node, counted from 0.
    pub fn node(&self, node: u8) -> Ipv4Addr {
        Ipv4Addr::new(100, 64, self.number, 10 + node)
    }

    /// The same node's address of the other family, which the machine itself has no route to.
    pub fn node_v6(&self, node: u8) -> String {
        format!("fd00:64:{:x}::{:x}", self.number, 10 + node)
    }

    /// Name of the machine's end of the network.
    pub fn link(&self) -> String {
        format!("fleet-{}", self.number)
    }

    /// Control group below which all containers of the run are, in every hierarchy.
    pub fn cgroup(&self) -> String {
        format!("/fleet-nodes-{}", self.number)
    }

    /// Removes the run's control groups, which no process is in any more.
    pub fn remove_cgroups(&self) {
        let root = Path::new("/sys/fs/cgroup");
        let hierarchies =
            fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path());
        let name = self.cgroup();
        let groups = hierarchies.chain([root.to_owned()]).map(|folder| folder.join(&name[1..]));
        groups.filter(|group| group.is_dir()).for_each(|group| remove_group(&group));
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.remove_cgroups();
    }
}

/// A group goes only after those below it. Its files are the kernel's and cannot be removed.
fn remove_group(group: &Path) {
    for entry in fs::read_dir(group).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_group(&entry.path());
        }
    }
    if let Err(error) = fs::remove_dir(group) {
        tracing::warn!(%error, group = %group.display(), "Control group not removed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_share_no_address() {
        let slot = |number| Slot { number, _lock: tempfile() };
        let (one, other) = (slot(0), slot(1));
        assert_ne!(one.gateway(), other.gateway());
        assert_eq!(one.node(2).to_string(), "100.64.0.12");
        assert_eq!(other.node_v6(2), "fd00:64:1::c");
        assert!(slot(SLOTS - 1).link().len() <= 15, "the kernel takes no longer names of links");
    }

    #[test]
    fn addresses_of_the_machine_are_left_alone() {
        let slot = |number| Slot { number, _lock: tempfile() };
        let address = |octets: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(octets));
        let route = |link: &str, to, via| {
            let (to, via) = (address(to), address(via));
            format!("Iface\tDestination\tGateway\n{link}\t{to}\t{via}\t0003\t0\t0\t0\tFFFFFFFF\n")
        };
        let none = [0; 4];
        for routes in [route("vpn", [100, 64, 1, 7], none), route("eth0", none, [100, 64, 1, 1])] {
            assert!(slot(1).is_routed_elsewhere(&routes), "{routes}");
            assert!(!slot(0).is_routed_elsewhere(&routes), "{routes}");
        }
        let own = route("fleet-1", [100, 64, 1, 0], none);
        assert!(!slot(1).is_routed_elsewhere(&own));
    }

    #[test]
    fn groups_are_removed_from_the_innermost_outwards() {
        let root = std::env::temp_dir().join(format!("fleet-slot-test-{}", std::process::id()));
        fs::create_dir_all(root.join("a/b/c")).unwrap();
        fs::create_dir_all(root.join("a/d")).unwrap();
        remove_group(&root);
        assert!(!root.exists());
    }

    fn tempfile() -> File {
        File::open("/dev/null").unwrap()
    }
}
