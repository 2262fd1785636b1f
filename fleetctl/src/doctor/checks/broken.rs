//! Every check finds something in a fleet in which that is broken, and nothing once it is mended.

use std::collections::BTreeMap;

use fleet_model::multicluster::mode::Mode;

use super::{CHECKS, examine};
use crate::doctor::finding::Level;
use crate::doctor::report::Report;
use crate::doctor::seen::{Base, OnHub, Proxy, Served};
use crate::doctor::testing::{World, import, resolved, with_east};
use crate::offload::{IdleOffer, Offered};

type Break = fn(&mut World);

/// What breaks what a check looks at. A check without a row fails the test.
const BREAKS: [(&str, Break); 40] = [
    ("hub-kubernetes", |world| world.hub().base.kubernetes = Ok(Some((1, 33)))),
    ("kubernetes", |world| world.own().base.kubernetes = Ok(Some((1, 33)))),
    ("hub-kinds", |world| kinds(&mut world.hub().base)),
    ("hub-rights", |world| world.hub().base.lacks = Ok(vec!["list services".to_owned()])),
    ("hub-policies", |world| policies(&mut world.hub().base)),
    ("hub-clock", |world| world.hub().base.clock = Ok(30)),
    ("hub-namespaces", |world| {
        world.hub().exported.as_mut().unwrap().insert("ghost".to_owned(), 1);
    }),
    ("cluster-ids", |world| world.report().cluster_uid = "east-uid".to_owned()),
    ("ranges", |world| {
        world.own().pod_ranges.as_mut().unwrap().insert("10.245.0.0/16".to_owned());
    }),
    ("hub-definitions", |world| world.hub().kinds.as_mut().unwrap().clear()),
    ("endpoint-details", |world| world.hub().has_endpoint_details = Ok(false)),
    ("unpublished", |world| {
        let mut other = world.report().clone();
        (other.member, other.published_to) = ("north".to_owned(), Some("old/0".to_owned()));
        other.cluster_uid = "north-uid".to_owned();
        world.hub().reports.as_mut().unwrap().push(other);
    }),
    ("offload-offers", |world| {
        let idle = IdleOffer {
            executor: "west".to_owned(),
            reason: "ranges overlap".to_owned(),
            drains: false,
            help: None,
        };
        world.hub().offload.as_mut().unwrap().idle.push(idle);
    }),
    ("virtual-nodes", |world| {
        let silent = Offered {
            origin: "east".to_owned(),
            executor: "west".to_owned(),
            phase: "Accepted",
            heard: Some("Silent"),
            node: Some("fleet-west".to_owned()),
            pods: 3,
            capacity: 20,
            waiting: BTreeMap::new(),
            help: None,
        };
        world.hub().offload.as_mut().unwrap().nodes.push(silent);
    }),
    ("executor-ranges", |world| {
        let open = ("east".to_owned(), "10.2.0.0/16, ::/0".to_owned());
        world.hub().executor_ranges.as_mut().unwrap().push(open);
    }),
    ("mode", |world| world.agent().mode = Mode::CleanUp),
    ("leftovers", |world| world.agent().mode = Mode::Off),
    ("kinds", |world| kinds(&mut world.own().base)),
    ("rights", |world| world.own().base.lacks = Ok(vec!["watch nodes".to_owned()])),
    ("policies", |world| policies(&mut world.own().base)),
    ("hub-access", |world| {
        let lacks = vec!["create leases".to_owned()];
        world.own().on_hub = Ok(OnHub { account: "user west".to_owned(), lacks });
    }),
    ("clock", |world| world.own().base.clock = Ok(30)),
    ("token", |world| world.own().token.as_mut().unwrap().state = "expired".to_owned()),
    ("kube-proxy", |world| {
        world.own().proxy = Ok(Some(Proxy { mode: None, version: Some((1, 33)) }));
    }),
    ("definitions", |world| world.own().served = Ok(Served::default())),
    ("definition-release", |world| {
        world.own().definitions.as_mut().unwrap()[0].release = Some("v0.4.0".to_owned());
    }),
    ("slice-objects", |world| {
        world.own().definitions.as_mut().unwrap()[1].has_slice_objects = false;
    }),
    ("coredns-rights", |world| world.own().dns_lacks = Ok(vec!["list"])),
    ("coredns-version", |world| world.dns().image = "coredns:v1.12.1".to_owned()),
    ("corefile", |world| {
        let text = world.own().corefile.as_mut().unwrap().as_mut().unwrap();
        *text = text.replace("ttl 5", "ignore empty_service");
    }),
    ("node-local-dns", |world| {
        world.own().node_cache = Ok(Some(". {\n forward . 9.9.9.9\n}\n".to_owned()));
    }),
    ("kubeadm", |world| world.own().is_kubeadm = Ok(true)),
    // It is a note in a cluster whose DNS serves the zone.
    ("search-list", |_| {}),
    ("claim", |world| world.report().accepted = None),
    ("incarnation", |world| world.own().imports = Ok(vec![import("shop/web", Some("old/0"))])),
    ("published", |world| world.report().published_to = None),
    ("foreign-imports", |world| {
        world.own().imports.as_mut().unwrap().push(import("other/db", None));
    }),
    ("implementations", |world| world.own().has_cilium = Ok(true)),
    ("cluster-properties", |world| {
        world.own().properties.as_mut().unwrap()[0].value = "paris".to_owned();
    }),
    ("service-addresses", |world| {
        world.own().ranges = Ok(vec!["10.0.0.0/32".to_owned()]);
        world.hub().resolved.as_mut().unwrap().push(resolved("shop/api"));
    }),
];

fn kinds(base: &mut Base) {
    base.kinds.as_mut().unwrap()[0].bounds = vec![".spec.x (maxLength)".to_owned()];
}

fn policies(base: &mut Base) {
    base.policies.as_mut().unwrap()[0].version = "0.0.9".to_owned();
}

fn finds(report: &Report, check: &str) -> bool {
    let bad =
        report.results.iter().filter(|it| ![Level::Ok, Level::NotChecked].contains(&it.level));
    bad.filter(|line| line.check == check).count() > 0
}

#[test]
fn each_check_finds_what_is_broken_and_nothing_else_does() {
    let sound = examine(&with_east().seen);
    assert_eq!((sound.failures, sound.warnings), (0, 0), "{sound:?}");
    for check in CHECKS {
        let row = BREAKS.iter().find(|(name, _)| *name == check.name);
        let (_, break_it) = row.unwrap_or_else(|| panic!("no fleet breaks {}", check.name));
        let mut world = with_east();
        break_it(&mut world);
        let broken = examine(&world.seen);
        assert!(finds(&broken, check.name), "{}: {broken:?}", check.name);
        assert_eq!(finds(&sound, check.name), check.name == "search-list", "{}", check.name);
        let found = broken.results.iter().find(|line| line.check == check.name).unwrap();
        assert!(found.advice.is_some() || found.level == Level::Ok, "{found:?}");
    }
}
