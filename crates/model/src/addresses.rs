//! Which addresses can be endpoints.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses at which clouds serve a machine's own credentials and settings: Azure, Alibaba, Oracle. Those of the others
/// are link-local.
const CLOUD_SERVICES_V4: [Ipv4Addr; 3] = [
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
];
/// The same: EC2, GCE.
const CLOUD_SERVICES_V6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];

/// Whether a cloud serves a machine's own credentials and settings there.
pub fn is_cloud_service(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(ip) => CLOUD_SERVICES_V4.contains(&ip),
        IpAddr::V6(ip) => CLOUD_SERVICES_V6.contains(&ip),
    }
}

/// Whether an endpoint of the own cluster may have the address. The API server rejects the others, all but those of clouds'
/// services: a machine or a Pod never has one of these, and who can write such an endpoint could reach what is only for the node.
pub fn can_be_own_endpoint(address: IpAddr) -> bool {
    let special = address.is_unspecified() || address.is_loopback() || address.is_multicast();
    let local = match address {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local() || ip.to_ipv4_mapped().is_some(),
    };
    !special && !local && !is_cloud_service(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_have_addresses_of_their_own() {
        for good in ["10.0.0.1", "240.0.0.1", "192.0.2.1", "fd00::1", "64:ff9b::a00:1"] {
            assert!(can_be_own_endpoint(good.parse().unwrap()), "{good}");
        }
        for bad in [
            "0.0.0.0",
            "127.0.0.1",
            "169.254.169.254",
            "224.0.0.1",
            "168.63.129.16",
            "100.100.100.200",
            "192.0.0.192",
            "::",
            "::1",
            "fe80::1",
            "ff02::1",
            "::ffff:10.0.0.1",
            "fd00:ec2::254",
            "fd20:ce::254",
        ] {
            assert!(!can_be_own_endpoint(bad.parse().unwrap()), "{bad}");
        }
    }
}
