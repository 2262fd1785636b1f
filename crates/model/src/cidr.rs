//! Ranges of IP addresses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use std::sync::Arc;

/// A range of addresses of one family, such as `10.1.0.0/16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cidr {
    first: IpAddr,
    prefix: u8,
}

impl Cidr {
    /// Whether an address is in the range.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.first.is_ipv4() == address.is_ipv4() && masked(address, self.prefix) == self.first
    }

    /// Whether an address is in both ranges.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.contains(other.first) || other.contains(self.first)
    }
}

impl From<IpAddr> for Cidr {
    /// The range of this address alone.
    fn from(address: IpAddr) -> Self {
        Self { first: address, prefix: bits(address) }
    }
}

impl FromStr for Cidr {
    type Err = String;

    /// Reads the one way to write a range: with a prefix, and without bits behind it.
    fn from_str(text: &str) -> Result<Self, String> {
        let range = text.split_once('/').and_then(|(first, prefix)| {
            let first: IpAddr = first.parse().ok()?;
            let prefix = prefix.bytes().all(|byte| byte.is_ascii_digit()).then_some(prefix)?;
            let prefix = prefix.parse().ok().filter(|prefix| *prefix <= bits(first))?;
            Some(Self { first, prefix })
        });
        let range = range.ok_or_else(|| format!("{text:?} is not a range such as 10.1.0.0/16"))?;
        let first = masked(range.first, range.prefix);
        if first == range.first {
            Ok(range)
        } else {
            Err(format!("{text:?} has bits behind its prefix: write {first}/{}", range.prefix))
        }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}

/// Several ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cidrs(Arc<[Cidr]>);

impl Cidrs {
    /// The range that contains an address; the first of several.
    pub fn find(&self, address: IpAddr) -> Option<Cidr> {
        self.0.iter().copied().find(|range| range.contains(address))
    }

    /// The first address of the first one.
    pub fn first_address(&self) -> Option<IpAddr> {
        self.0.first().map(|range| range.first)
    }

    /// Whether one of them has addresses of the same family as this one.
    pub fn has_family_of(&self, address: IpAddr) -> bool {
        self.0.iter().any(|range| range.first.is_ipv4() == address.is_ipv4())
    }

    /// All ranges, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Cidr> {
        self.0.iter()
    }

    /// Whether an address is in a range of both lists.
    pub fn overlap(&self, other: &Self) -> bool {
        self.iter().any(|range| other.iter().any(|its| range.overlaps(its)))
    }

    /// Whether there is no range.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<Cidr> for Cidrs {
    fn from_iter<I: IntoIterator<Item = Cidr>>(ranges: I) -> Self {
        Self(ranges.into_iter().collect())
    }
}

impl FromStr for Cidrs {
    type Err = String;

    /// Reads ranges that commas separate; an empty text is an empty list.
    fn from_str(text: &str) -> Result<Self, String> {
        let ranges = text.split(',').map(str::trim).filter(|range| !range.is_empty());
        ranges.map(str::parse).collect()
    }
}

impl fmt::Display for Cidrs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, range) in self.0.iter().enumerate() {
            write!(f, "{}{range}", if at == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The address without the bits behind a prefix.
fn masked(address: IpAddr, prefix: u8) -> IpAddr {
    let behind = u32::from(bits(address).saturating_sub(prefix));
    match address {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(behind).unwrap_or_default();
            Ipv4Addr::from_bits(ip.to_bits() & mask).into()
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(behind).unwrap_or_default();
            Ipv6Addr::from_bits(ip.to_bits() & mask).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_contains_the_addresses_with_its_prefix() {
        for (range, inside, outside) in [
            (
                "10.1.0.0/16",
                vec!["10.1.0.0", "10.1.255.255"],
                vec!["10.0.255.255", "10.2.0.0", "::1"],
            ),
            ("0.0.0.0/0", vec!["0.0.0.0", "255.255.255.255"], vec!["::"]),
            ("10.1.2.3/32", vec!["10.1.2.3"], vec!["10.1.2.2"]),
            ("10.1.2.2/31", vec!["10.1.2.2", "10.1.2.3"], vec!["10.1.2.4"]),
            ("fd00:96::/112", vec!["fd00:96::", "fd00:96::ffff"], vec!["fd00:96::1:0", "10.1.2.3"]),
            ("::/0", vec!["::", "fd00::1"], vec!["0.0.0.0"]),
            ("fd00::1/128", vec!["fd00::1"], vec!["fd00::"]),
        ] {
            let cidr: Cidr = range.parse().unwrap();
            assert_eq!(cidr.to_string(), range);
            let contains = |text: &str| cidr.contains(text.parse().unwrap());
            assert!(inside.into_iter().all(contains), "{range}");
            assert!(!outside.into_iter().any(contains), "{range}");
        }
    }

    #[test]
    fn an_address_is_a_range() {
        let alone = |text: &str| Cidr::from(text.parse::<IpAddr>().unwrap()).to_string();
        assert_eq!(
            (alone("10.1.2.3").as_str(), alone("fd00::1").as_str()),
            ("10.1.2.3/32", "fd00::1/128")
        );
    }

    #[test]
    fn a_range_is_written_in_one_way() {
        for text in [
            "",
            "10.1.0.0",
            "10.1.0.0/",
            "/16",
            "10.1.0.0/33",
            "10.1.0.0/+8",
            "10.1.0.0/-1",
            "10.1.0.0/1 6",
            "010.1.0.0/16",
            "fd00::/129",
            "fd00::1%eth0/128",
            "ten/8",
        ] {
            let error = text.parse::<Cidr>().unwrap_err();
            assert_eq!(error, format!("{text:?} is not a range such as 10.1.0.0/16"));
        }
        let error = "10.1.2.3/16".parse::<Cidr>().unwrap_err();
        assert_eq!(error, "\"10.1.2.3/16\" has bits behind its prefix: write 10.1.0.0/16");
    }

    #[test]
    fn ranges_are_separated_by_commas() {
        let ranges: Cidrs = " 10.1.0.0/16, fd00:96::/112,".parse().unwrap();
        assert_eq!(ranges.to_string(), "10.1.0.0/16,fd00:96::/112");
        let found = |text: &str| ranges.find(text.parse().unwrap()).map(|range| range.to_string());
        assert_eq!(found("10.1.0.9").as_deref(), Some("10.1.0.0/16"));
        assert_eq!(found("fd00:96::9").as_deref(), Some("fd00:96::/112"));
        assert_eq!(found("10.2.0.9"), None);
        assert!("".parse::<Cidrs>().unwrap().is_empty());
        assert!("10.1.0.0/16,10.2".parse::<Cidrs>().is_err());
    }
}
