//! What a machine needs to run nodes.

use std::path::{Path, PathBuf};
use std::process::Command;

use fleet_testbed::process::find_in_path;

/// Programs, and the package of Debian that has each; `.ci/need` reads the same list.
const PROGRAMS: &str = include_str!("../packages");

/// Where packages put the plugins that connect Pods: Debian's, and that of their authors.
const PLUGIN_FOLDERS: [&str; 2] = ["/usr/lib/cni", "/opt/cni/bin"];
/// Of the plugins, those that are used.
const PLUGINS: [&str; 3] = ["ptp", "host-local", "loopback"];

/// There if the kernel has IPv6.
const IPV6: &str = "/proc/sys/net/ipv6";

/// What is missing to run nodes, in one line; `None` if nothing is.
pub fn missing() -> Option<String> {
    if !cfg!(target_os = "linux") {
        return Some("nodes need Linux".to_owned());
    }
    if !is_root() {
        return Some("nodes need root, for network namespaces and containers".to_owned());
    }
    if !Path::new(IPV6).is_dir() {
        return Some(
            "nodes need IPv6, which this kernel does not have or has switched off".to_owned(),
        );
    }
    let mut packages = packages_without(|program| find_in_path(program).is_some());
    if plugin_folder().is_none() {
        packages.push("containernetworking-plugins");
    }
    packages.sort_unstable();
    packages.dedup();
    if !packages.is_empty() {
        return Some(format!("nodes need packages: apt-get install {}", packages.join(" ")));
    }
    let denied = "nodes need the right to create namespaces, which this container does not have";
    (!may_unshare()).then(|| denied.to_owned())
}

/// The packages of those programs that are not there.
fn packages_without(is_there: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let rows = PROGRAMS.lines().filter_map(|row| row.split_once(' '));
    rows.filter(|(program, _)| !is_there(program)).map(|(_, package)| package).collect()
}

fn may_unshare() -> bool {
    let tried =
        Command::new("unshare").args(["--net", "--mount", "--pid", "--fork", "true"]).output();
    tried.is_ok_and(|output| output.status.success())
}

/// Whether this process may do anything.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The folder with the plugins that connect Pods, if there is one.
pub fn plugin_folder() -> Option<PathBuf> {
    let complete =
        |folder: &&&str| PLUGINS.iter().all(|name| Path::new(folder).join(name).is_file());
    PLUGIN_FOLDERS.iter().find(complete).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_names_a_program_and_its_package() {
        assert_eq!(packages_without(|_| false).len(), PROGRAMS.lines().count());
        assert_eq!(packages_without(|program| program != "dig"), ["bind9-dnsutils"]);
        assert!(packages_without(|_| true).is_empty());
    }
}
