//! Families of the addresses that an import gets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fleet_api::ObjectName;
use fleet_api::multicluster::IpFamily;
use fleet_model::objects::Service;

use crate::snapshot::MemberSnapshot;

/// The ServiceCIDR that an API server makes of its flags. It has each family that Services can have: a further one adds
/// addresses, but no family.
const OF_API_SERVER: &str = "kubernetes";
/// The Service whose address the API server allocates first, in the cluster's preferred family.
const API_SERVER: (&str, &str) = ("default", "kubernetes");

/// What this cluster gives to Services.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Offered {
    /// What a Service gets that asks for nothing.
    primary: IpFamily,
    /// Whether there are addresses of the other family; `None` where the cluster does not show it.
    both: Option<bool>,
}

/// What a derived Service asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Families {
    /// `spec.ipFamilies`, in this cluster's order.
    pub(super) list: Vec<IpFamily>,
    /// `spec.ipFamilyPolicy`.
    pub(super) policy: &'static str,
}

const SINGLE: &str = "SingleStack";
const REQUIRE_BOTH: &str = "RequireDualStack";
const PREFER_BOTH: &str = "PreferDualStack";

impl Offered {
    /// What the cluster offers, by the ServiceCIDR of its API server; where that cannot be read, its preferred family is all
    /// that is known.
    pub(super) fn of(snapshot: &MemberSnapshot) -> Self {
        let range = snapshot.service_cidrs.get(&ObjectName::cluster(OF_API_SERVER));
        let preferred = range.and_then(|range| range.cidrs.first_address());
        let preferred = preferred.map(|address| match address {
            IpAddr::V4(_) => IpFamily::IPv4,
            IpAddr::V6(_) => IpFamily::IPv6,
        });
        let has = |address| range.is_some_and(|range| range.cidrs.has_family_of(address));
        let (v4, v6) = (has(Ipv4Addr::UNSPECIFIED.into()), has(Ipv6Addr::UNSPECIFIED.into()));
        let (namespace, name) = API_SERVER;
        let first = snapshot.services.get(&ObjectName::new(namespace, name));
        let first = first.and_then(|service| families(service).first().copied());
        let primary = preferred.or(first).unwrap_or(IpFamily::IPv4);
        Self { primary, both: (v4 || v6).then_some(v4 && v6) }
    }

    /// What a Service asks for whose exporters have these families; `None` if this cluster has none of them.
    pub(super) fn wanted(&self, exported: &[IpFamily]) -> Option<Families> {
        let primary = self.primary;
        let other = if primary == IpFamily::IPv4 { IpFamily::IPv6 } else { IpFamily::IPv4 };
        let is_exported =
            |family| exported.is_empty() && family == primary || exported.contains(&family);
        let single = |family| Some(Families { list: vec![family], policy: SINGLE });
        match (is_exported(primary), is_exported(other), self.both) {
            (true, true, Some(true)) => {
                Some(Families { list: vec![primary, other], policy: REQUIRE_BOTH })
            }
            (true, true, None) => Some(Families { list: vec![primary], policy: PREFER_BOTH }),
            (true, ..) => single(primary),
            // Where the cluster does not show it, the API server's answer does.
            (false, true, Some(true) | None) => single(other),
            (false, ..) => None,
        }
    }
}

impl Families {
    /// Whether a Service has what is asked for.
    pub(super) fn are_those_of(&self, service: &Service) -> bool {
        let has = families(service);
        match self.policy {
            PREFER_BOTH => has.first() == self.list.first(),
            _ => has == self.list,
        }
    }

    /// Whether the API server can change a Service to them: the first family is for life.
    pub(super) fn suit(&self, service: &Service) -> bool {
        families(service).first().is_some_and(|first| self.list.contains(first))
    }

    /// The same in the order of a Service that exists.
    pub(super) fn led_by(&self, service: &Service) -> Self {
        let mut led = self.clone();
        let first = families(service).first().copied();
        led.list.sort_by_key(|family| Some(*family) != first);
        led
    }

    /// Those of an import that exists.
    pub(super) fn of_import(list: &[IpFamily]) -> Option<Self> {
        let policy = if list.len() > 1 { REQUIRE_BOTH } else { SINGLE };
        (!list.is_empty()).then(|| Self { list: list.to_vec(), policy })
    }
}

/// The families of a Service, in its order.
pub(super) fn families(service: &Service) -> Vec<IpFamily> {
    service.ip_families.iter().filter_map(|family| IpFamily::parse(family)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use IpFamily::{IPv4, IPv6};

    fn wanted(primary: IpFamily, both: Option<bool>, exported: &[IpFamily]) -> Option<String> {
        let families = Offered { primary, both }.wanted(exported)?;
        let list: Vec<_> = families.list.iter().map(|family| family.as_str()).collect();
        Some(format!("{} {}", families.policy, list.join(",")))
    }

    #[test]
    fn a_service_gets_what_both_sides_have_in_this_clusters_order() {
        let both = [IPv4, IPv6];
        for (primary, offered, exported, expected) in [
            (IPv4, Some(false), &[IPv4][..], Some("SingleStack IPv4")),
            (IPv4, Some(false), &both, Some("SingleStack IPv4")),
            (IPv4, Some(false), &[IPv6], None),
            (IPv6, Some(true), &both, Some("RequireDualStack IPv6,IPv4")),
            (IPv4, Some(true), &[IPv6, IPv4], Some("RequireDualStack IPv4,IPv6")),
            (IPv4, Some(true), &[IPv6], Some("SingleStack IPv6")),
            (IPv4, Some(true), &[], Some("SingleStack IPv4")),
            (IPv6, Some(false), &[], Some("SingleStack IPv6")),
            (IPv4, None, &both, Some("PreferDualStack IPv4")),
            (IPv4, None, &[IPv4], Some("SingleStack IPv4")),
            (IPv4, None, &[IPv6], Some("SingleStack IPv6")),
            (IPv6, Some(false), &[IPv4], None),
        ] {
            let found = wanted(primary, offered, exported);
            assert_eq!(found.as_deref(), expected, "{primary:?} {offered:?} {exported:?}");
        }
    }
}
