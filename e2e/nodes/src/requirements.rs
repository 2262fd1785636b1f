//! What a machine needs to run nodes.

use std::path::{Path, PathBuf};
use std::process::Command;

use fleet_testbed::process::find_in_path;

/// Programs, and the package of Debian that has them.
const PROGRAMS: [(&str, &str); 16] = [
    ("busybox", "busybox-static"),
    ("conntrack", "conntrack"),
    ("containerd", "containerd"),
    ("ctr", "containerd"),
    ("dash", "dash"),
    ("dig", "bind9-dnsutils"),
    ("ip", "iproute2"),
    ("iptables", "iptables"),
    ("nc.openbsd", "netcat-openbsd"),
    ("nft", "nftables"),
    ("nsenter", "util-linux"),
    ("runc", "runc"),
    ("setpriv", "util-linux"),
    ("socat", "socat"),
    ("unshare", "util-linux"),
    ("wget", "wget"),
];

/// Where packages put the plugins that connect Pods: Debian's, and that of their authors.
const PLUGIN_FOLDERS: [&str; 2] = ["/usr/lib/cni", "/opt/cni/bin"];
/// Of the plugins, those that are used.
const PLUGINS: [&str; 3] = ["ptp", "host-local", "loopback"];

/// What is missing to run nodes, in one line; `None` if nothing is.
pub fn missing() -> Option<String> {
    if !cfg!(target_os = "linux") {
        return Some("nodes need Linux".to_owned());
    }
    if !is_root() {
        return Some("nodes need root, for network namespaces and containers".to_owned());
    }
    let mut packages: Vec<&str> = PROGRAMS
        .iter()
        .filter(|(program, _)| find_in_path(program).is_none())
        .map(|(_, p)| *p)
        .collect();
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
