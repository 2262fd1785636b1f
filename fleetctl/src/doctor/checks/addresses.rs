//! Whether a cluster has addresses for what it is still to import.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use fleet_model::cidr::Cidr;
use member_agent::ImportNamespaces;

use crate::doctor::finding::{Finding, Outcome, Read, known};
use crate::doctor::seen::Resolved;
use crate::doctor::subject::Subject;

/// Numbers of addresses by family.
type Counts = BTreeMap<&'static str, u128>;

const IPV4: &str = "IPv4";
const IPV6: &str = "IPv6";

/// Whether the ServiceCIDRs have an address for each import to come.
pub(super) fn free(member: &Subject<'_>) -> Outcome {
    let free = free_addresses(known(&member.own.ranges)?, known(&member.own.addresses)?);
    let missing = wanted(member)?;
    let short = free.iter().filter_map(|(family, free)| {
        let needed = missing.iter().filter(|it| takes(it, family)).count();
        (u128::try_from(needed).unwrap_or_default() > *free).then(|| lacking(family, *free, needed))
    });
    Ok(short.collect())
}

fn lacking(family: &str, free: u128, needed: usize) -> Finding {
    let what = format!(
        "{needed} Services are still to be imported that need an {family} address, and the ServiceCIDRs have {free} free ones"
    );
    let advice = "add a ServiceCIDR with another range, or import less: value multicluster.importNamespaces of the chart \
                  member-agent";
    Finding::failure(what, advice)
}

/// What is exported and has no address here yet, although its namespace exists.
fn wanted<'a>(member: &Subject<'a>) -> Read<Vec<&'a Resolved>> {
    let namespaces = known(&member.own.namespaces)?;
    let everything = ImportNamespaces::default();
    let agent = member.own.agent.as_ref().ok().and_then(Option::as_ref);
    let included = agent.map_or(&everything, |agent| &agent.imports);
    let imports = known(&member.own.imports)?.iter();
    let has_address: BTreeSet<_> = imports.filter(|it| it.has_address).map(|it| &it.name).collect();
    let resolved = known(&member.hub()?.resolved)?.iter();
    let wanted = resolved.filter(|it| {
        it.is_exported()
            && !it.is_headless
            && namespaces.contains(&*it.service.namespace)
            && included.include(&it.service)
            && !has_address.contains(&it.service)
    });
    Ok(wanted.collect())
}

fn takes(resolved: &Resolved, family: &str) -> bool {
    resolved.families.is_empty() || resolved.families.iter().any(|it| it == family)
}

/// The free addresses of each family that the ranges have.
fn free_addresses(ranges: &[String], used: &[IpAddr]) -> Counts {
    let ranges: Vec<_> =
        ranges.iter().filter_map(|text| Some((text.parse().ok()?, text))).collect();
    let mut counts = Counts::new();
    for (_, text) in &ranges {
        let (family, size) = size(text);
        let count = counts.entry(family).or_default();
        *count = count.saturating_add(size);
    }
    let is_inside =
        |address: &&IpAddr| ranges.iter().any(|(range, _): &(Cidr, _)| range.contains(**address));
    let used: BTreeSet<_> = used.iter().filter(is_inside).collect();
    for address in used {
        let count = counts.entry(if address.is_ipv4() { IPV4 } else { IPV6 }).or_default();
        *count = count.saturating_sub(1);
    }
    counts
}

/// How many addresses a range has for Services: not the first, nor the last of IPv4, which is for broadcasts.
fn size(range: &str) -> (&'static str, u128) {
    let prefix = range.rsplit_once('/').and_then(|(_, prefix)| prefix.parse().ok());
    let (family, bits, kept) = if range.contains(':') { (IPV6, 128_u32, 1) } else { (IPV4, 32, 2) };
    let host_bits = bits.saturating_sub(prefix.unwrap_or(bits));
    let size = 1_u128.checked_shl(host_bits).unwrap_or(u128::MAX);
    (family, size.saturating_sub(kept))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::testing::{levels, resolved, sound, unread};

    fn addresses(all: &[&str]) -> Vec<IpAddr> {
        all.iter().map(|address| address.parse().unwrap()).collect()
    }

    fn counted(ranges: &[&str], used: &[&str]) -> Vec<(&'static str, u128)> {
        let ranges: Vec<_> = ranges.iter().map(|&range| range.to_owned()).collect();
        free_addresses(&ranges, &addresses(used)).into_iter().collect()
    }

    #[test]
    fn addresses_outside_of_the_ranges_do_not_count() {
        assert_eq!(
            counted(&["10.0.0.0/29"], &["10.0.0.1", "10.0.0.1", "10.9.9.9", "fd00::1"]),
            [(IPV4, 5)]
        );
        assert_eq!(counted(&["10.0.0.0/29", "10.1.0.0/30"], &[]), [(IPV4, 8)]);
        assert_eq!(counted(&["10.0.0.0/29", "fd00::/120"], &["fd00::1"]), [(IPV4, 6), (IPV6, 254)]);
        assert_eq!(counted(&["::/0"], &[]), [(IPV6, u128::MAX - 1)]);
        assert_eq!(counted(&["10.0.0.0/32", "nonsense", "10.0.0.0/99"], &[]), [(IPV4, 0)]);
    }

    #[test]
    fn every_import_to_come_needs_an_address() {
        let mut world = sound();
        assert_eq!(world.examine(free), []);
        world.own().ranges = Ok(vec!["10.0.0.0/30".to_owned()]);
        world.own().addresses = Ok(addresses(&["10.0.0.1"]));
        let more = ["shop/a", "shop/b"].map(resolved);
        world.hub().resolved.as_mut().unwrap().extend(more);
        let found = world.examine(free);
        assert_eq!(levels(&found), ["failure"]);
        assert!(
            found[0].what.starts_with("2 Services are still to be imported that need an IPv4"),
            "{found:?}"
        );
        assert!(found[0].what.ends_with("have 1 free ones"), "{found:?}");
        world.own().addresses = Ok(Vec::new());
        assert_eq!(world.examine(free), [], "two are free");
    }

    #[test]
    fn what_is_not_imported_needs_none() {
        let mut world = sound();
        world.own().ranges = Ok(vec!["10.0.0.0/32".to_owned()]);
        let headless = Resolved { is_headless: true, ..resolved("shop/headless") };
        let withdrawn = Resolved { exporters: BTreeSet::new(), ..resolved("shop/withdrawn") };
        let other_family = Resolved { families: vec![IPV6.to_owned()], ..resolved("shop/v6") };
        let elsewhere = resolved("island/web");
        world.hub().resolved =
            Ok(vec![headless, withdrawn, other_family, elsewhere, resolved("shop/web")]);
        assert_eq!(world.examine(free), []);
        world.hub().resolved.as_mut().unwrap().push(resolved("shop/api"));
        assert_eq!(levels(&world.examine(free)), ["failure"]);
        world.agent().imports = "shop/web,island".parse().unwrap();
        assert_eq!(world.examine(free), [], "the flag leaves it out");
    }

    #[test]
    fn what_was_not_read_is_not_guessed() {
        let mut world = sound();
        world.own().ranges = Err(unread());
        assert_eq!(world.try_examine(free), Err(unread()));
        let mut world = sound();
        world.hub().resolved = Err(unread());
        assert_eq!(world.try_examine(free), Err(unread()));
    }
}
