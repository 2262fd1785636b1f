//! The address types that a Service needs.

use std::fmt;
use std::net::Ipv6Addr;

use k8s_openapi::api::core::v1::Service;

/// Address type of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AddressType {
    /// IPv4 addresses.
    IPv4,
    /// IPv6 addresses.
    IPv6,
}

impl AddressType {
    /// All address types.
    pub const ALL: [Self; 2] = [Self::IPv4, Self::IPv6];

    /// The value in `addressType` of slices and in `spec.ipFamilies`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::IPv4 => "IPv4",
            Self::IPv6 => "IPv6",
        }
    }

    /// The types of `spec.ipFamilies`, in their order.
    pub fn of_families(service: &Service) -> Vec<Self> {
        let spec = service.spec.as_ref();
        let families = spec.and_then(|spec| spec.ip_families.as_deref()).unwrap_or_default();
        let mut types = Vec::new();
        for family in families {
            let known = Self::ALL.into_iter().find(|known| known.as_str() == family);
            types.extend(known.filter(|known| !types.contains(known)));
        }
        types
    }

    /// The types of a Service: its IP families; without these, the type of its cluster IP; without that, both.
    pub fn of_service(service: &Service) -> Vec<Self> {
        let families = Self::of_families(service);
        if !families.is_empty() {
            return families;
        }
        let ip = service.spec.as_ref().and_then(|spec| spec.cluster_ip.as_deref());
        match ip {
            None | Some("" | "None") => Self::ALL.to_vec(),
            Some(ip) if ip.parse::<Ipv6Addr>().is_ok() => vec![Self::IPv6],
            Some(_) => vec![Self::IPv4],
        }
    }
}

impl fmt::Display for AddressType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
