//! The table of checks. A new check is a row here, a function of what was seen, and, if it looks at something new, a field there.

mod addresses;
mod base;
#[cfg(test)]
mod broken;
mod claim;
mod definitions;
mod dns;
mod fleet;
mod hub;
mod kubernetes;
mod offload;
mod properties;
mod proxy;
mod ranges;
mod strangers;
mod token;

use super::check::{Check, Examine};
use super::finding::{Outcome, Unread};
use super::report::{Line, Report};
use super::seen::{Member, Seen};
use super::subject::Subject;

pub(super) use definitions::of as definition;
pub(super) use dns::{config_map, text as corefile};

/// Name of the check whether the versions are served that CoreDNS reads.
pub(super) const DEFINITIONS: &str = "definitions";
/// Name of the check whether CoreDNS may read ServiceImports.
pub(super) const DNS_RIGHTS: &str = "coredns-rights";
/// Name of the check whether CoreDNS is new enough.
pub(super) const DNS_VERSION: &str = "coredns-version";
/// Name of the lines about clusters that could not be read.
const ACCESS: &str = "access";
/// What lines about the hub have in place of a member.
const HUB: &str = "hub";

/// All checks, in the order of their results: what others need comes first.
pub const CHECKS: [Check; 40] = [
    Check::hub(
        "hub-kubernetes",
        "release of Kubernetes of the hub, against those that this project is tested with",
        kubernetes::of_hub,
    ),
    Check::hub(
        "hub-kinds",
        "definitions of this project on the hub, their versions, fields and bounds",
        base::hub_kinds,
    ),
    Check::hub(
        "hub-rights",
        "rights of the hub agent, against those of its chart",
        base::hub_rights,
    ),
    Check::hub(
        "hub-policies",
        "release of the admission policies on the hub, and their bindings",
        base::hub_policies,
    ),
    Check::hub("hub-clock", "clocks of the hub and of this computer", base::hub_clock),
    Check::hub(
        "hub-namespaces",
        "namespaces on the hub, of members and of exported Services",
        fleet::namespaces,
    ),
    Check::hub("cluster-ids", "ids of clusters, which two members must not share", fleet::ids),
    Check::hub(
        "ranges",
        "ranges of Pods and Services of all members that are looked at",
        ranges::overlaps,
    ),
    Check::hub(
        "hub-definitions",
        "definitions of ExportedService and ResolvedService",
        hub::definitions,
    ),
    Check::hub(
        "endpoint-details",
        "host names and zones in EndpointSliceExports",
        hub::endpoint_details,
    ),
    Check::hub(
        "unpublished",
        "reports of members that their exports are complete",
        claim::unpublished,
    ),
    Check::hub("offload-offers", "offers to run Pods of other members", offload::offers),
    Check::hub("virtual-nodes", "nodes that stand for other members", offload::nodes),
    Check::hub("executor-ranges", "ranges of executors in member policies", offload::ranges),
    Check::member(
        "kubernetes",
        "release of Kubernetes of the member, against those that this project is tested with",
        kubernetes::of_member,
    ),
    Check::member("mode", "flags of the member agent", strangers::mode),
    Check::member(
        "leftovers",
        "objects that the member agent no longer keeps right",
        strangers::leftovers,
    ),
    Check::member(
        "kinds",
        "definitions of this project in the member, their versions, fields and bounds",
        base::kinds,
    ),
    Check::member("rights", "rights of the member agent, against those of its chart", base::rights),
    Check::member(
        "policies",
        "release of the admission policies in the member, and their bindings",
        base::policies,
    ),
    Check::member(
        "hub-access",
        "rights of the member agent on the hub, against those of the hub agent's chart",
        base::on_hub,
    ),
    Check::member("clock", "clocks of the member and of the hub", base::clock),
    Check::member(
        "token",
        "end of the member's token for the hub, and whether it is renewed",
        token::end,
    ),
    Check::member(
        "kube-proxy",
        "mode and version of kube-proxy, where traffic is directed by zone hints",
        proxy::hints,
    ),
    Check::participant(DEFINITIONS, "served versions of the standard API", definitions::served),
    Check::participant(
        "definition-release",
        "releases of the definitions of the standard API",
        definitions::release,
    ),
    Check::participant(
        "slice-objects",
        "status.endpointSliceObjects of ServiceImports",
        definitions::slice_objects,
    ),
    Check::participant(DNS_RIGHTS, "rights of CoreDNS on ServiceImports", dns::rights),
    Check::participant(DNS_VERSION, "version of CoreDNS", dns::version),
    Check::participant("corefile", "zone and options in the Corefile", dns::corefile),
    Check::participant("node-local-dns", "configuration of NodeLocal DNSCache", dns::node_cache),
    Check::participant("kubeadm", "whether kubeadm upgrades CoreDNS", dns::kubeadm),
    Check::participant("search-list", "search list of resolvers", dns::search_list),
    Check::participant("claim", "ClusterReport of the member on the hub", claim::claim),
    Check::participant(
        "incarnation",
        "the hub that confirmed the ServiceImports",
        claim::incarnation,
    ),
    Check::participant(
        "published",
        "report of the member that its exports are complete",
        claim::published,
    ),
    Check::participant(
        "foreign-imports",
        "ServiceImports of other implementations",
        strangers::foreign_imports,
    ),
    Check::participant(
        "implementations",
        "other implementations of the standard API",
        strangers::implementations,
    ),
    Check::participant(
        "cluster-properties",
        "names of the cluster and of its clusterset",
        properties::values,
    ),
    Check::participant("service-addresses", "free addresses in the ServiceCIDRs", addresses::free),
];

/// The results of all checks.
pub fn examine(seen: &Seen) -> Report {
    let mut lines = of_hub(seen);
    lines.extend(seen.members.iter().flat_map(|member| of_member(seen, member)));
    Report::new(lines)
}

fn of_hub(seen: &Seen) -> Vec<Line> {
    let hub = match &seen.hub {
        Ok(hub) => hub,
        Err(unread) => return vec![line(HUB, ACCESS, unread.clone())],
    };
    let mut lines = Vec::new();
    if let Err(unread) = &hub.members {
        lines.push(line(HUB, ACCESS, unread.clone()));
    }
    for check in CHECKS {
        if let Examine::Hub(examine) = check.examine {
            lines.extend(results(HUB, &check, examine(seen, hub)));
        }
    }
    lines
}

fn of_member(seen: &Seen, member: &Member) -> Vec<Line> {
    let name = &member.name;
    let own = match &member.own {
        Ok(own) => own,
        Err(unread) => return vec![line(name, ACCESS, unread.clone())],
    };
    let subject = Subject { seen, name, own };
    let examined = |check: &Check| match check.examine {
        Examine::Member(examine) => results(name, check, examine(&subject)),
        Examine::Participant(examine) if own.takes_part() => {
            results(name, check, examine(&subject))
        }
        Examine::Hub(_) | Examine::Participant(_) => Vec::new(),
    };
    CHECKS.iter().flat_map(examined).collect()
}

fn results(cluster: &str, check: &Check, outcome: Outcome) -> Vec<Line> {
    match outcome {
        Ok(findings) if findings.is_empty() => {
            vec![Line::ok(cluster, check.name, check.looks_at)]
        }
        Ok(findings) => findings.into_iter().map(|it| Line::of(cluster, check.name, it)).collect(),
        Err(unread) => vec![line(cluster, check.name, unread)],
    }
}

fn line(cluster: &str, check: &'static str, unread: Unread) -> Line {
    Line::of(cluster, check, unread.into())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use fleet_model::multicluster::mode::Mode;

    use super::*;
    use crate::doctor::finding::Level;
    use crate::doctor::testing::{sound, unread};

    fn levels(report: &Report) -> BTreeSet<(&str, Level)> {
        let noteworthy = report.results.iter().filter(|line| line.level != Level::Ok);
        noteworthy.map(|line| (line.check, line.level)).collect()
    }

    #[test]
    fn every_check_has_a_name_of_its_own() {
        let names: BTreeSet<_> = CHECKS.iter().map(|check| check.name).collect();
        assert_eq!(names.len(), CHECKS.len());
        let is_plain = |name: &&str| name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        assert!(names.iter().all(is_plain), "{names:?}");
        for name in [DEFINITIONS, DNS_RIGHTS, DNS_VERSION] {
            assert!(names.contains(name), "{name}");
        }
        assert!(!names.contains(ACCESS), "lines about access have no check");
    }

    #[test]
    fn a_sound_fleet_has_one_line_for_each_check() {
        let report = examine(&sound().seen);
        assert_eq!((report.failures, report.warnings), (0, 0), "{report:?}");
        let names: Vec<_> = report.results.iter().map(|line| line.check).collect();
        assert_eq!(names, CHECKS.map(|check| check.name));
        assert_eq!(levels(&report), BTreeSet::from([("search-list", Level::Information)]));
    }

    #[test]
    fn a_member_that_takes_no_part_is_spared_the_checks_of_it() {
        let mut world = sound();
        world.agent().mode = Mode::Off;
        world.own().served = Ok(crate::doctor::seen::Served::default());
        let report = examine(&world.seen);
        let expected = [("mode", Level::Information), ("leftovers", Level::Warning)];
        assert_eq!(levels(&report), BTreeSet::from(expected));
    }

    #[test]
    fn a_cluster_that_cannot_be_read_is_one_line() {
        let mut world = sound();
        world.seen.members[0].own = Err(unread());
        let report = examine(&world.seen);
        let own: Vec<_> = report.results.iter().filter(|line| line.cluster == "west").collect();
        assert_eq!(own.len(), 1);
        assert_eq!((own[0].check, own[0].level), (ACCESS, Level::NotChecked));
        assert!(own[0].finding.starts_with("not checked, because "), "{own:?}");
    }

    #[test]
    fn without_the_hub_the_own_cluster_is_still_checked() {
        let mut world = sound();
        world.seen.hub = Err(unread());
        world.own().served = Ok(crate::doctor::seen::Served::default());
        let report = examine(&world.seen);
        assert_eq!(report.failures, 2, "{report:?}");
        assert!(levels(&report).contains(&("claim", Level::NotChecked)));
        assert!(levels(&report).contains(&(ACCESS, Level::NotChecked)));
    }

    #[test]
    fn members_that_may_not_be_listed_are_reported() {
        let mut world = sound();
        world.hub().members = Err(unread());
        assert!(levels(&examine(&world.seen)).contains(&(ACCESS, Level::NotChecked)));
    }
}
