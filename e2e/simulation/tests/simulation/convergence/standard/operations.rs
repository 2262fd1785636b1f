//! What happens to a Service of the clusterset, one operation at a time, and what it costs.

use fleet_api::{ObjectName, kinds};
use serde_json::{Value, json};

use super::{
    TEAM, calm, change_endpoints, deploy, export, export_labelled, fleet, make_namespace, unexport,
    web,
};
use crate::convergence::fleet::Fleet;
use crate::convergence::watched::Watched;

/// The members. "c" has no namespace of that name, but where an operation makes it.
const MEMBERS: [&str; 3] = ["a", "b", "c"];

/// Something that users do, in a fleet at rest.
#[derive(Clone, Copy)]
pub(super) struct Operation {
    pub(super) name: &'static str,
    /// What was there before.
    pub(super) before: fn(&mut Fleet),
    pub(super) act: fn(&mut Fleet),
    /// Writes on the hub, and in all members, at least.
    pub(super) writes: (usize, usize),
    /// Further deletions in members, where the garbage collector has not been faster.
    pub(super) slower: usize,
    /// Whether importers lose something by it.
    pub(super) takes: bool,
}

impl Operation {
    /// A fleet at rest, just before it. The seed decides the order of the agents' work.
    pub(super) fn prepare(&self, seed: u64) -> Fleet {
        let mut fleet = fleet(&MEMBERS, seed);
        (self.before)(&mut fleet);
        calm(&mut fleet);
        fleet.take_writes();
        fleet
    }
}

fn exported(fleet: &mut Fleet) {
    export(fleet, 0, &["10.1.0.1"]);
}

fn exported_twice(fleet: &mut Fleet) {
    exported(fleet);
    export(fleet, 1, &["10.2.0.1"]);
}

pub(super) const EXPORT: Operation = Operation {
    name: "a first export",
    before: |_| {},
    act: exported,
    writes: (3, 1 + 2 * 5),
    slower: 0,
    takes: false,
};

pub(super) const HEADLESS: Operation = Operation {
    name: "a first export of a headless Service",
    before: |_| {},
    act: |fleet| {
        let spec = json!({
            "type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"],
            "ipFamilies": ["IPv4"], "sessionAffinity": "None",
            "internalTrafficPolicy": "Cluster",
            "ports": [{ "name": "web", "protocol": "TCP", "port": 80, "targetPort": 8080 }],
        });
        fleet.member(0).create(kinds::SERVICE, &web(), json!({ "spec": spec })).unwrap();
        crate::convergence::fleet::slice(&web(), "x1", fleet.member(0), &["10.1.0.1"]);
        export_labelled(fleet, 0, &json!({}));
    },
    writes: (3, 1 + 2 * 3),
    slower: 0,
    takes: false,
};

/// The record of the cluster, its acceptance, the mark that it exports nothing more, which is another generation of the record and
/// accepted as well; two properties, and the import.
pub(super) const IMPORT: Operation = Operation {
    name: "a member joins and imports",
    before: |fleet| {
        exported(fleet);
        make_namespace(fleet.member(2));
        fleet.members[2].watched = Watched::Off;
    },
    act: |fleet| fleet.members[2].watched = Watched::Long,
    writes: (4, 2 + 5),
    slower: 0,
    takes: false,
};

pub(super) const CHANGE: Operation = Operation {
    name: "a change of endpoints",
    before: exported,
    act: |fleet| change_endpoints(fleet, 0, &["10.1.0.2", "10.1.0.3"]),
    writes: (1, 2),
    slower: 0,
    takes: false,
};

/// ExportedService, ResolvedService and slice; in each importer slice, Service and import, and the status, which is about another
/// generation.
pub(super) const PORT: Operation = Operation {
    name: "another port",
    before: exported,
    act: |fleet| {
        let port = |number: i32| json!({ "name": "admin", "protocol": "TCP", "port": number });
        let service = |service: &mut Value| {
            service["spec"]["ports"].as_array_mut().unwrap().push(port(81));
        };
        fleet.member(0).edit(kinds::SERVICE, &web(), service).unwrap();
        let slice = |slice: &mut Value| slice["ports"].as_array_mut().unwrap().push(port(8081));
        let name = ObjectName::new(TEAM, "web-x1");
        fleet.member(0).edit(kinds::ENDPOINT_SLICE, &name, slice).unwrap();
    },
    writes: (3, 2 * 4),
    slower: 0,
    takes: false,
};

/// The other one stays, and the import with its address.
pub(super) const ONE_UNEXPORT: Operation = Operation {
    name: "one of two unexports",
    before: exported_twice,
    act: |fleet| unexport(fleet, 0),
    writes: (3, 2 * 2),
    slower: 0,
    takes: true,
};

/// What the ServiceImport owns, the garbage collector of the model deletes with it, unless a slice has gone before.
pub(super) const LAST_UNEXPORT: Operation = Operation {
    name: "the last unexports",
    before: exported,
    act: |fleet| unexport(fleet, 0),
    writes: (3, 2),
    slower: 2 * 2,
    takes: true,
};

pub(super) const SECOND_EXPORT: Operation = Operation {
    name: "a second exporter",
    before: exported,
    act: |fleet| export(fleet, 1, &["10.2.0.1"]),
    writes: (3, 1 + 2 * 2),
    slower: 0,
    takes: false,
};

/// Both ServiceExports report it.
pub(super) const CONFLICT: Operation = Operation {
    name: "a second exporter that differs",
    before: exported,
    act: |fleet| {
        deploy(fleet, 1, &["10.2.0.1"]);
        export_labelled(fleet, 1, &json!({ "tier": "b" }));
    },
    writes: (3, 2 + 2 * 2),
    slower: 0,
    takes: false,
};

pub(super) const NAMESPACE: Operation = Operation {
    name: "a namespace appears",
    before: exported_twice,
    act: |fleet| make_namespace(fleet.member(2)),
    writes: (0, 6),
    slower: 0,
    takes: false,
};

/// Everything there is.
pub(super) const ALL: [Operation; 10] = [
    EXPORT,
    HEADLESS,
    IMPORT,
    CHANGE,
    PORT,
    ONE_UNEXPORT,
    LAST_UNEXPORT,
    SECOND_EXPORT,
    CONFLICT,
    NAMESPACE,
];
