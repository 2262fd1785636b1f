//! Which addresses endpoints of other clusters must not have here, beyond those that are reserved in every cluster.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use fleet_api::names::is_dns1123_label;
use fleet_model::cidr::{Cidr, Cidrs};

/// What stands for every cluster.
const ALL: &str = "*";

/// What the flags add to the addresses that the snapshot shows: those of Services, Nodes and the API server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReservedAddresses {
    /// Further ranges that are reserved here.
    pub cidrs: Cidrs,
    /// The address of the API server that the agent connects to, unless that is a name.
    pub api_server: Option<IpAddr>,
    /// Ranges that a cluster may use all the same.
    pub allowed: AllowedReservedCidrs,
}

/// For each cluster of the fleet, ranges that its endpoints may be in although they are reserved here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedReservedCidrs(Arc<[(Arc<str>, Cidr)]>);

impl AllowedReservedCidrs {
    /// Whether endpoints of `cluster` may have this address.
    pub fn allow(&self, cluster: &str, address: IpAddr) -> bool {
        let of = |allowed: &str| allowed == cluster || allowed == ALL;
        self.0.iter().any(|(allowed, range)| of(allowed) && range.contains(address))
    }
}

impl FromStr for AllowedReservedCidrs {
    type Err = String;

    /// Reads pairs that commas separate; an empty text is an empty list.
    fn from_str(text: &str) -> Result<Self, String> {
        let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
        pairs.map(pair).collect::<Result<_, _>>().map(Self)
    }
}

impl fmt::Display for AllowedReservedCidrs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (cluster, range)) in self.0.iter().enumerate() {
            write!(f, "{}{cluster}={range}", if at == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

fn pair(text: &str) -> Result<(Arc<str>, Cidr), String> {
    let pair = text.split_once('=').map(|(cluster, range)| (cluster.trim(), range.trim()));
    let named = pair.filter(|(cluster, _)| *cluster == ALL || is_dns1123_label(cluster));
    let (cluster, range) =
        named.ok_or_else(|| format!("{text:?} does not look like west=10.1.0.0/16"))?;
    Ok((cluster.into(), range.parse()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cluster_has_ranges_of_its_own() {
        let allowed: AllowedReservedCidrs =
            "west=10.1.0.0/16, west=fd00::/48,*=10.2.0.0/16".parse().unwrap();
        assert_eq!(allowed.to_string(), "west=10.1.0.0/16,west=fd00::/48,*=10.2.0.0/16");
        for (cluster, address, expected) in [
            ("west", "10.1.0.9", true),
            ("west", "fd00::9", true),
            ("west", "10.3.0.9", false),
            ("east", "10.1.0.9", false),
            ("east", "10.2.0.9", true),
        ] {
            assert_eq!(
                allowed.allow(cluster, address.parse().unwrap()),
                expected,
                "{cluster} {address}"
            );
        }
        assert!(!AllowedReservedCidrs::default().allow("west", "10.1.0.9".parse().unwrap()));
    }

    #[test]
    fn what_names_no_cluster_or_no_range_is_a_mistake() {
        for text in ["west", "=10.1.0.0/16", "West=10.1.0.0/16", "west*=10.1.0.0/16", "10.1.0.0/16"]
        {
            let error = text.parse::<AllowedReservedCidrs>().unwrap_err();
            assert_eq!(error, format!("{text:?} does not look like west=10.1.0.0/16"));
        }
        let error = "west=10.1.0.1/16".parse::<AllowedReservedCidrs>().unwrap_err();
        assert!(error.contains("bits behind its prefix"), "{error}");
    }
}
