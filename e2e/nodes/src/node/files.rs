//! What the programs of a node are configured with. Pure.

use std::path::Path;

use serde_json::json;

use super::mode::ProxyMode;
use crate::dns_address::DNS_ADDRESS;
use crate::network::Addresses;
use crate::programs::PAUSE_IMAGE;

/// Prepares the namespaces of a node: what programs write to fixed places goes to `folder`, or with the namespaces.
pub(super) fn sandbox_script(folder: &Path, cgroup: &str) -> String {
    format!(
        "mkdir -p '{folder}/var-log' '{folder}/var-lib/upper' '{folder}/var-lib/work'
mount -t tmpfs tmpfs /run
mkdir -p /run/lock /run/netns
mount --bind '{folder}/var-log' /var/log
mount -t overlay overlay -o lowerdir=/var/lib,upperdir='{folder}/var-lib/upper',workdir='{folder}/var-lib/work' /var/lib
cd /sys/fs/cgroup
# Of version 2 there is one hierarchy, whose groups have the controllers that the group above gives them.
if [ -e cgroup.controllers ]; then
    for controller in $(cat cgroup.controllers); do echo \"+$controller\" >cgroup.subtree_control || true; done
    mkdir -p \".{cgroup}\"
else
    for hierarchy in *; do
        if [ -e \"$hierarchy/cgroup.procs\" ]; then mkdir -p \"$hierarchy{cgroup}\"; fi
    done
fi
# A set of processors without members takes no process.
for file in cpuset.cpus cpuset.mems; do
    if [ -e \"cpuset/$file\" ]; then cat \"cpuset/$file\" >\"cpuset{cgroup}/$file\"; fi
done
ip link set lo up
echo 1 >/proc/sys/net/ipv4/ip_forward",
        folder = folder.display(),
    )
}

/// Gives the node its addresses, once its link is there. The machine has no route to Pods, so to it they have the address
/// of their node.
pub(super) fn addresses_script(addresses: &Addresses) -> String {
    let Addresses { gateway, node, node_v6, pods, .. } = addresses;
    format!(
        "set -e
ip link set eth0 up
ip address add {node}/24 dev eth0
ip route add default via {gateway}
echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
ip -6 address add {node_v6}/64 dev eth0 nodad
nft add table ip machine
nft add chain ip machine out '{{ type nat hook postrouting priority 90; }}'
nft add rule ip machine out ip saddr {pods} ip daddr {gateway} masquerade"
    )
}

/// Leads to the Pods of another node.
pub(super) fn routes_script(other: &Addresses) -> String {
    let Addresses { node, node_v6, pods, pods_v6, .. } = other;
    format!(
        "set -e\nip route replace {pods} via {node}\nip -6 route replace {pods_v6} via {node_v6}"
    )
}

pub(super) fn containerd(folder: &Path, network: &Path, plugins: &Path) -> String {
    // Without the right to raise it, a container would not start at a lower score than its node's. A profile of AppArmor
    // would be the machine's, and outlive the run.
    format!(
        r#"version = 2
root = "{root}"
state = "/run/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "{network}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
"#,
        root = folder.join("containerd").display(),
        network = network.display(),
        plugins = plugins.display(),
    )
}

/// Routed links instead of a bridge: what a bridge carries between Pods of a node is hidden from kube-proxy's rules, unless
/// the machine's kernel has loaded a module for that.
pub(super) fn pod_network(addresses: &Addresses) -> String {
    let range = |subnet: &str| json!([{ "subnet": subnet }]);
    let network = json!({
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [{
            "type": "ptp",
            "ipMasq": false,
            "ipam": {
                "type": "host-local",
                "dataDir": "/run/pod-addresses",
                "ranges": [range(&addresses.pods), range(&addresses.pods_v6)],
                "routes": [{ "dst": "0.0.0.0/0" }, { "dst": "::/0" }],
            },
        }],
    });
    format!("{network:#}\n")
}

pub(super) fn kubelet(
    folder: &Path,
    authority: &Path,
    addresses: &Addresses,
    cgroup: &str,
) -> String {
    let config = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": addresses.node,
        "authentication": {
            "anonymous": { "enabled": false },
            "webhook": { "enabled": false },
            "x509": { "clientCAFile": authority },
        },
        "authorization": { "mode": "AlwaysAllow" },
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": cgroup,
        // Groups for classes of Pods need what machines without systemd, or in containers, may not have.
        "cgroupsPerQOS": false,
        "enforceNodeAllocatable": [],
        "failCgroupV1": false,
        "failSwapOn": false,
        "localStorageCapacityIsolation": false,
        "clusterDNS": [DNS_ADDRESS],
        "clusterDomain": "cluster.local",
        "resolvConf": "",
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "podLogsDir": folder.join("pod-logs"),
        "volumePluginDir": folder.join("volume-plugins"),
        "healthzPort": 0,
        // The machine's disk may be as full as it likes.
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "evictionHard": {
            "memory.available": "1Mi",
            "nodefs.available": "0%",
            "nodefs.inodesFree": "0%",
            "imagefs.available": "0%",
            "imagefs.inodesFree": "0%",
        },
        // What Pods report is what tests wait for.
        "nodeStatusUpdateFrequency": "5s",
        "syncFrequency": "5s",
    });
    format!("{config:#}\n")
}

pub(super) fn proxy(
    node: &str,
    mode: ProxyMode,
    addresses: &Addresses,
    kubeconfig: &Path,
) -> String {
    let config = json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": mode.to_string(),
        "hostnameOverride": node,
        "clientConnection": { "kubeconfig": kubeconfig },
        // Connections of Pods keep their addresses, those of anything else do not.
        "clusterCIDR": format!("{},{}", addresses.pods, addresses.pods_v6),
        // These settings are the machine's and stay as they are.
        "conntrack": { "maxPerCore": 0, "min": 0 },
        "iptables": { "minSyncPeriod": "0s" },
        "nftables": { "minSyncPeriod": "0s" },
    });
    format!("{config:#}\n")
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use serde_json::Value;

    use super::*;

    fn addresses() -> Addresses {
        Addresses {
            gateway: Ipv4Addr::new(100, 64, 0, 1),
            node: Ipv4Addr::new(100, 64, 0, 10),
            node_v6: "fd00:64::a".to_owned(),
            pods: "10.200.0.0/24".to_owned(),
            pods_v6: "fd00:10:200::/64".to_owned(),
        }
    }

    #[test]
    fn pods_have_addresses_of_both_families() {
        let network: Value = serde_json::from_str(&pod_network(&addresses())).unwrap();
        let ranges = &network["plugins"][0]["ipam"]["ranges"];
        assert_eq!(ranges[0][0]["subnet"], "10.200.0.0/24");
        assert_eq!(ranges[1][0]["subnet"], "fd00:10:200::/64");
    }

    #[test]
    fn kube_proxy_knows_the_node_s_own_pods_in_both_modes() {
        for mode in ProxyMode::ALL {
            let text = proxy("node", mode, &addresses(), Path::new("/k"));
            let config: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(config["mode"], mode.to_string());
            assert_eq!(config["clusterCIDR"], "10.200.0.0/24,fd00:10:200::/64");
        }
    }

    #[test]
    fn what_programs_write_to_fixed_places_is_in_the_sandbox() {
        let script = sandbox_script(Path::new("/f"), "/group");
        for place in ["/run", "/var/lib", "/var/log"] {
            assert!(
                script.lines().any(|line| line.starts_with("mount ") && line.ends_with(place)),
                "{script}"
            );
        }
    }
}
