//! A sound fleet of a hub and the member west, which tests break.

use std::collections::{BTreeMap, BTreeSet};

use fleet_api::ObjectName;
use fleet_api::multicluster::standard::{CLUSTER_ID, CLUSTERSET_ID};
use fleet_model::multicluster::mode::Mode;
use member_agent::ImportNamespaces;

use super::finding::{Finding, Outcome, Unread};
use super::mend::{HUB_CHART, MEMBER_CHART};
use super::seen::{
    Accepted, Agent, Base, Cluster, Definition, Dns, Hub, Import, Install, Kind, Member, OnHub,
    Policy, Property, Proxy, Report, Resolved, Seen, Served, Token,
};
use super::subject::Subject;
use crate::offload::OffloadStatus;

/// The incarnation of the hub.
pub(super) const HUB: &str = "hub-uid/0";
/// A Corefile with all that is needed.
pub(super) const COREFILE: &str = ".:53 {
    ready
    kubernetes cluster.local clusterset.local in-addr.arpa ip6.arpa {
        ttl 5
        multicluster clusterset.local
    }
    forward . /etc/resolv.conf
}
";

pub(super) struct World {
    pub(super) seen: Seen,
}

impl World {
    pub(super) fn hub(&mut self) -> &mut Hub {
        self.seen.hub.as_mut().unwrap()
    }

    pub(super) fn report(&mut self) -> &mut Report {
        &mut self.hub().reports.as_mut().unwrap()[0]
    }

    pub(super) fn own(&mut self) -> &mut Cluster {
        self.seen.members[0].own.as_mut().unwrap()
    }

    pub(super) fn agent(&mut self) -> &mut Agent {
        self.own().agent.as_mut().unwrap().as_mut().unwrap()
    }

    pub(super) fn dns(&mut self) -> &mut Dns {
        self.own().dns.as_mut().unwrap().as_mut().unwrap()
    }

    pub(super) fn try_examine(&self, check: fn(&Subject<'_>) -> Outcome) -> Outcome {
        let Member { name, own } = &self.seen.members[0];
        check(&Subject { seen: &self.seen, name, own: own.as_ref().unwrap() })
    }

    pub(super) fn examine(&self, check: fn(&Subject<'_>) -> Outcome) -> Vec<Finding> {
        self.try_examine(check).unwrap()
    }

    pub(super) fn try_examine_hub(&self, check: fn(&Seen, &Hub) -> Outcome) -> Outcome {
        check(&self.seen, self.seen.hub.as_ref().unwrap())
    }

    pub(super) fn examine_hub(&self, check: fn(&Seen, &Hub) -> Outcome) -> Vec<Finding> {
        self.try_examine_hub(check).unwrap()
    }
}

pub(super) fn levels(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|finding| finding.level.to_string()).collect()
}

pub(super) fn unread() -> Unread {
    Unread::new("you may not read it", "ask for the right")
}

pub(super) fn import(name: &str, mark: Option<&str>) -> Import {
    Import {
        name: ObjectName::parse(name).unwrap(),
        mark: mark.map(str::to_owned),
        writers: BTreeSet::new(),
        has_address: true,
    }
}

pub(super) fn resolved(name: &str) -> Resolved {
    Resolved {
        service: ObjectName::parse(name).unwrap(),
        is_headless: false,
        exporters: set(&["east"]),
        families: vec!["IPv4".to_owned()],
    }
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// West imports shop/web.
pub(super) fn sound() -> World {
    let members = vec![Member { name: "west".to_owned(), own: Ok(cluster()) }];
    World { seen: Seen { hub: Ok(hub()), members } }
}

fn base(chart: &str) -> Base {
    let kind = Kind { name: "kind.fleet".to_owned(), exists: true, ..Kind::default() };
    let policy = Policy {
        name: format!("policy.{chart}"),
        chart: chart.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        is_bound: true,
    };
    let install = Install {
        release: chart.to_owned(),
        namespace: "fleet-system".to_owned(),
        account: chart.to_owned(),
        system_namespace: "fleet-system".to_owned(),
        lease_namespace: "fleet-system".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        repository: None,
        is_of_chart: true,
    };
    Base {
        install: Ok(Some(install)),
        kubernetes: Ok(Some((1, 36))),
        clock: Ok(0),
        kinds: Ok(vec![kind]),
        policies: Ok(vec![policy]),
        lacks: Ok(Vec::new()),
    }
}

/// A second member, east, beside west.
pub(super) fn with_east() -> World {
    let mut world = sound();
    let mut east = cluster();
    east.context = "east-admin".to_owned();
    east.uid = Ok("east-uid".to_owned());
    east.pod_ranges = Ok(set(&["10.245.0.0/24"]));
    east.properties.as_mut().unwrap()[0].value = "east".to_owned();
    world.seen.members.push(Member { name: "east".to_owned(), own: Ok(east) });
    let report = Report {
        member: "east".to_owned(),
        cluster_uid: "east-uid".to_owned(),
        ..world.report().clone()
    };
    world.hub().reports.as_mut().unwrap().push(report);
    world
}

fn hub() -> Hub {
    let accepted =
        Accepted { is_true: true, reason: "Accepted".to_owned(), message: String::new() };
    let report = Report {
        member: "west".to_owned(),
        cluster_uid: "west-uid".to_owned(),
        published_to: Some(HUB.to_owned()),
        incarnation: Some(HUB.to_owned()),
        clusterset_id: Some("fleet".to_owned()),
        accepted: Some(accepted),
    };
    Hub {
        context: "hub".to_owned(),
        members: Ok(vec!["west".to_owned()]),
        uid: Ok("hub-uid".to_owned()),
        reports: Ok(vec![report]),
        resolved: Ok(vec![resolved("shop/web")]),
        kinds: Ok(set(&["ClusterReport", "ExportedService", "ResolvedService"])),
        has_endpoint_details: Ok(true),
        offload: Ok(OffloadStatus::default()),
        executor_ranges: Ok(vec![("west".to_owned(), "10.2.0.0/16".to_owned())]),
        base: base(HUB_CHART),
        namespaces: Ok(set(&["fleet-system", "fleet-member-west", "shop"])),
        exported: Ok(BTreeMap::from([("shop".to_owned(), 1)])),
        registered: Ok(set(&["west"])),
    }
}

fn cluster() -> Cluster {
    let definition = |name: &str| Definition {
        name: format!("{name}.multicluster.x-k8s.io"),
        release: Some("v0.5.2".to_owned()),
        revision: Some("0".to_owned()),
        has_slice_objects: true,
    };
    let property = |name: &str, value: &str| Property {
        name: name.to_owned(),
        value: value.to_owned(),
        is_ours: true,
    };
    Cluster {
        context: "west-admin".to_owned(),
        uid: Ok("west-uid".to_owned()),
        agent: Ok(Some(Agent {
            mode: Mode::On,
            imports: ImportNamespaces::default(),
            gives_hints: true,
            features: BTreeSet::new(),
        })),
        served: Ok(Served {
            v1alpha1: set(&["ServiceExport", "ServiceImport"]),
            v1beta1: set(&["ServiceExport", "ServiceImport"]),
            about: set(&["ClusterProperty"]),
        }),
        groups: Ok(set(&["multicluster.x-k8s.io", "about.k8s.io"])),
        definitions: Ok(vec![definition("serviceexports"), definition("serviceimports")]),
        dns: Ok(Some(Dns {
            image: "registry.k8s.io/coredns/coredns:v1.13.1".to_owned(),
            account: "coredns".to_owned(),
            config_map: "coredns".to_owned(),
        })),
        corefile: Ok(Some(COREFILE.to_owned())),
        dns_lacks: Ok(Vec::new()),
        node_cache: Ok(None),
        is_kubeadm: Ok(false),
        has_cilium: Ok(false),
        imports: Ok(vec![import("shop/web", Some(HUB))]),
        properties: Ok(vec![property(CLUSTER_ID, "west"), property(CLUSTERSET_ID, "fleet")]),
        namespaces: Ok(set(&["shop", "kube-system"])),
        ranges: Ok(vec!["10.96.0.0/16".to_owned()]),
        addresses: Ok(vec!["10.96.0.1".parse().unwrap()]),
        base: base(MEMBER_CHART),
        on_hub: Ok(OnHub::default()),
        proxy: Ok(Some(Proxy { mode: Some("nftables".to_owned()), version: Some((1, 34)) })),
        pod_ranges: Ok(set(&["10.244.0.0/24", "10.244.1.0/24"])),
        token: Ok(token()),
    }
}

/// As the agent of `fleetctl join` and the chart has it.
fn token() -> Token {
    Token {
        state: "renewed".to_owned(),
        says: None,
        remaining: Some(80_000),
        secret: Some("fleet-system/hub-kubeconfig-secret".parse().unwrap()),
    }
}
