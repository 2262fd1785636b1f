//! What of a cluster is dialled, and what is not.

use fleet_accumulator::ClusterId;
use fleet_api::{annotations, kinds, labels};
use fleet_model_server::ModelServer;
use serde_json::{Value, json};

use super::*;
use crate::reach::targets::SAMPLE;
use crate::{Identity, Reachability, Settings};

const HUB: &str = "hub-uid/0";

/// A member that imports shop/web by both APIs, from east.
fn own() -> ModelServer {
    let mut own = ModelServer::new(ClusterId::Local);
    for namespace in ["shop", "fleet-system", "default"] {
        own.create(kinds::NAMESPACE, &ObjectName::cluster(namespace), json!({})).unwrap();
    }
    let cidr = json!({ "spec": { "cidrs": ["10.96.0.0/16"] } });
    own.create(kinds::SERVICE_CIDR, &ObjectName::cluster("kubernetes"), cidr).unwrap();
    let import = json!({
        "metadata": { "annotations": { annotations::MULTICLUSTER_HUB: HUB } },
        "spec": { "type": "ClusterSetIP", "ports": [] },
    });
    own.create(kinds::MCS_SERVICE_IMPORT, &ObjectName::new("shop", "web"), import).unwrap();
    for (namespace, name, address) in
        [("shop", "derived-1", "10.96.0.7"), ("fleet-system", "shop-web", "10.96.0.8")]
    {
        let service = json!({ "spec": {
            "type": "ClusterIP", "clusterIP": address, "clusterIPs": [address],
            "ports": [{ "name": "dns", "protocol": "UDP", "port": 53 },
                      { "name": "http", "protocol": "TCP", "port": 8080 }],
        }});
        own.create(kinds::SERVICE, &ObjectName::new(namespace, name), service).unwrap();
    }
    own
}

fn standard(own: &mut ModelServer, name: &str, change: impl FnOnce(&mut Value)) {
    let mut slice = json!({
        "metadata": { "labels": {
            labels::MANAGED_BY: labels::MANAGED_BY_MULTICLUSTER,
            labels::MULTICLUSTER_SERVICE_NAME: "web",
            labels::MULTICLUSTER_SOURCE_CLUSTER: "east",
            labels::SERVICE_NAME: "derived-1",
        }, "annotations": { annotations::FLEET_SERVICE: "shop/web" } },
        "addressType": "IPv4",
        "endpoints": [{ "addresses": ["10.1.0.1"], "conditions": { "ready": true } }],
        "ports": [{ "name": "dns", "protocol": "UDP", "port": 53 }, { "name": "http", "protocol": "TCP", "port": 80 }],
    });
    change(&mut slice);
    own.create(kinds::ENDPOINT_SLICE, &ObjectName::new("shop", name), slice).unwrap();
}

fn fleet(own: &mut ModelServer, namespace: &str) {
    let slice = json!({
        "metadata": { "labels": {
            labels::MANAGED_BY: labels::MANAGED_BY_IMPORT, labels::SERVICE_NAME: "shop-web",
        }, "annotations": {
            annotations::FLEET_SERVICE: "shop/web", annotations::ORIGIN_CLUSTER: "east",
        } },
        "addressType": "IPv4",
        "endpoints": [{ "addresses": ["10.1.0.2"], "conditions": { "ready": true } }],
        "ports": [{ "name": "http", "protocol": "TCP", "port": 80 }],
    });
    own.create(kinds::ENDPOINT_SLICE, &ObjectName::new(namespace, "east-web"), slice).unwrap();
}

fn seen(own: &ModelServer, reachability: Reachability) -> Targets {
    let settings = Settings { reachability, ..Settings::new("west") };
    let hub = ModelServer::new(ClusterId::Hub);
    Targets::of(&settings, &crate::tests::snapshot(&Identity::new("west"), own, &hub))
}

fn dialled(targets: &Targets) -> Vec<String> {
    targets.cells.values().flatten().map(ToString::to_string).collect()
}

#[test]
fn endpoints_addresses_and_names_of_both_apis_are_dialled() {
    let mut own = own();
    standard(&mut own, "s1", |_| {});
    fleet(&mut own, "fleet-system");
    let found = seen(&own, Reachability::Names);
    assert_eq!(dialled(&found), ["10.1.0.2:80", "10.1.0.1:80"]);
    let fronts: Vec<_> = found.fronts.values().collect();
    let shown: Vec<_> =
        fronts.iter().map(|it| (it.address.to_string(), it.name.as_deref().unwrap())).collect();
    assert_eq!(
        shown,
        [
            ("10.96.0.8:8080".to_owned(), "shop-web.fleet-system.svc"),
            ("10.96.0.7:8080".to_owned(), "web.shop.svc.clusterset.local."),
        ]
    );
    let found = seen(&own, Reachability::Addresses);
    assert!(found.fronts.values().all(|front| front.name.is_none()));
}

/// What no import has admitted is not dialled, also if a user writes it into a slice.
#[test]
fn only_what_is_admitted_is_dialled() {
    let none = |found: Targets| assert_eq!(dialled(&found), Vec::<String>::new());
    for reserved in ["10.96.0.1", "127.0.0.1", "169.254.169.254", "224.0.0.1", "100.100.100.200"] {
        let mut own = own();
        standard(&mut own, "s1", |slice| slice["endpoints"][0]["addresses"] = json!([reserved]));
        none(seen(&own, Reachability::Addresses));
    }
    let mut foreign = own();
    let name = ObjectName::new("shop", "web");
    foreign.delete(kinds::MCS_SERVICE_IMPORT, &name).unwrap();
    standard(&mut foreign, "s1", |_| {});
    none(seen(&foreign, Reachability::Addresses));
    let mut elsewhere = own();
    fleet(&mut elsewhere, "shop");
    none(seen(&elsewhere, Reachability::Addresses));
    let mut ordinary = own();
    standard(&mut ordinary, "s1", |slice| {
        slice["metadata"]["labels"] = json!({ labels::SERVICE_NAME: "derived-1" });
    });
    none(seen(&ordinary, Reachability::Addresses));
}

/// A user may write a slice that claims to be of any cluster, also of this one.
#[test]
fn what_is_reserved_is_not_dialled_whoever_claims_it() {
    let (east, west) = ("east", "west");
    for (claimed, address, is_dialled) in [
        (west, "10.1.0.1", true),
        (west, "192.168.0.5", false),
        (west, "10.96.0.1", false),
        (east, "192.168.0.5", false),
    ] {
        let (mut own, name) = (own(), ObjectName::cluster("n1"));
        own.create(kinds::NODE, &name, json!({})).unwrap();
        own.edit(kinds::NODE, &name, |it| {
            let addresses = json!([{ "type": "InternalIP", "address": "192.168.0.5" }]);
            it["status"] = json!({ "addresses": addresses });
        })
        .unwrap();
        standard(&mut own, "s1", |slice| {
            slice["metadata"]["labels"][labels::MULTICLUSTER_SOURCE_CLUSTER] = json!(claimed);
            slice["endpoints"][0]["addresses"] = json!([address]);
        });
        let found = dialled(&seen(&own, Reachability::Addresses));
        assert_eq!(!found.is_empty(), is_dialled, "{claimed} {address}");
    }
}

#[test]
fn what_is_not_ready_or_has_no_port_of_tcp_is_not_dialled() {
    let mut own = own();
    standard(&mut own, "s1", |slice| {
        slice["ports"] = json!([{ "name": "dns", "protocol": "UDP", "port": 53 },
                                { "name": "media", "protocol": "SCTP", "port": 54 }]);
    });
    standard(&mut own, "s2", |slice| {
        slice["metadata"]["labels"][labels::MULTICLUSTER_SOURCE_CLUSTER] = json!("north");
        slice["endpoints"][0]["conditions"] = json!({ "ready": false });
    });
    let found = seen(&own, Reachability::Addresses);
    assert_eq!(found.cells.len(), 2);
    assert!(found.cells.values().all(BTreeSet::is_empty));
}

#[test]
fn of_many_endpoints_a_sample_stays() {
    let endpoints = |count: usize| -> Value {
        let endpoint =
            |at: usize| json!({ "addresses": [format!("10.1.{}.{}", at / 250, at % 250)] });
        (0..count).map(endpoint).collect()
    };
    let sample = |count: usize| {
        let mut own = own();
        standard(&mut own, "s1", |slice| slice["endpoints"] = endpoints(count));
        dialled(&seen(&own, Reachability::Addresses)).into_iter().collect::<BTreeSet<_>>()
    };
    let (first, later) = (sample(500), sample(501));
    assert_eq!((first.len(), later.len()), (SAMPLE, SAMPLE));
    assert!(first.intersection(&later).count() >= SAMPLE - 1);
}
