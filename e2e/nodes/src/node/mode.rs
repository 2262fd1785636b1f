//! How kube-proxy routes the addresses of Services.

use std::fmt;

/// A mode of kube-proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyMode {
    /// Rules of nftables, for kernels from 5.13 on.
    Nftables,
    /// Rules of iptables.
    Iptables,
}

impl ProxyMode {
    /// All that the lane tests.
    pub const ALL: [Self; 2] = [Self::Nftables, Self::Iptables];
}

impl fmt::Display for ProxyMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nftables => "nftables",
            Self::Iptables => "iptables",
        })
    }
}
