//! Free ports on loopback.
//!
//! Ports come from below the range the kernel hands to outgoing connections, so that a server that is stopped and
//! started again finds its port still free. Another process may win the race for a port between the check and the
//! server's own bind; then the server is started again with new ports.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use anyhow::{Result, bail};
use parking_lot::Mutex;

/// Ports this process has given out; two servers that start at once must not get the same one.
static GIVEN: LazyLock<Mutex<HashSet<u16>>> = LazyLock::new(Mutex::default);

/// A port on which nothing listens now and that this process has not given out before.
pub fn free_port() -> Result<u16> {
    let range = range_outside(ephemeral_range());
    let random = RandomState::new().hash_one(std::process::id());
    let mut given = GIVEN.lock();
    for port in candidates(&range, random) {
        if !given.contains(&port) && TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            given.insert(port);
            return Ok(port);
        }
    }
    bail!("no free port between {} and {}", range.start(), range.end())
}

/// The kernel's range for outgoing connections; Linux's default where it cannot be read.
fn ephemeral_range() -> (u16, u16) {
    std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range")
        .ok()
        .and_then(|text| parse_range(&text))
        .unwrap_or((32_768, 60_999))
}

fn parse_range(text: &str) -> Option<(u16, u16)> {
    let mut numbers = text.split_whitespace().map(str::parse::<u16>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// A range of at least a thousand unprivileged ports outside of the kernel's; if there is none, the kernel's upper
/// half.
fn range_outside((low, high): (u16, u16)) -> RangeInclusive<u16> {
    const WANTED: u16 = 1_000;
    if low > 10_000 + WANTED {
        10_000..=low - 1
    } else if high < u16::MAX - WANTED {
        high + 1..=u16::MAX
    } else {
        low / 2 + high / 2..=high
    }
}

/// All ports of the range once, from a random one onwards.
fn candidates(range: &RangeInclusive<u16>, random: u64) -> impl Iterator<Item = u16> + use<> {
    let (low, size) = (*range.start(), u64::from(range.end() - range.start()) + 1);
    (0..size).map(move |step| {
        let offset = (random % size + step) % size;
        low + u16::try_from(offset).expect("an offset into a range of u16 fits u16")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_range_is_avoided_where_possible() {
        assert_eq!(range_outside((32_768, 60_999)), 10_000..=32_767);
        assert_eq!(range_outside((1_024, 60_000)), 60_001..=65_535);
        assert_eq!(range_outside((1_024, 65_535)), 33_279..=65_535);
        assert_eq!(parse_range("32768\t60999\n"), Some((32_768, 60_999)));
        assert_eq!(parse_range("many"), None);
    }

    #[test]
    fn every_port_of_the_range_is_tried_once() {
        let ports: Vec<u16> = candidates(&(10..=14), 3).collect();
        assert_eq!(ports, [13, 14, 10, 11, 12]);
        assert_eq!(candidates(&(10..=14), u64::MAX).count(), 5);
    }

    #[test]
    fn a_port_is_given_out_once() {
        let ports: HashSet<u16> = (0..20).map(|_| free_port().unwrap()).collect();
        assert_eq!(ports.len(), 20);
    }
}
