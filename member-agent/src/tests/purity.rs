//! Planning is pure: it gives the same plan twice, and moves no metric.

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, kinds};
use fleet_model_server::{ModelServer, plans_computed_twice};
use prometheus::{Registry, TextEncoder};
use serde_json::json;

use crate::endpointslices::EndpointSliceController;
use crate::export::ExportController;
use crate::external_workloads::ExternalWorkloadController;
use crate::import::ImportController;
use crate::membership::MembershipController;
use crate::metrics::{ExportMetrics, ImportMetrics, SliceMetrics};
use crate::settings::{Mode, Settings};
use crate::snapshot::MemberSnapshot;

fn member(settings: &Settings) -> (MemberSnapshot, jiff::Timestamp) {
    let (mut own, mut hub) = (ModelServer::new(ClusterId::Local), ModelServer::new(ClusterId::Hub));
    for namespace in ["team", "fleet-system"] {
        own.create(kinds::NAMESPACE, &ObjectName::cluster(namespace), json!({})).unwrap();
    }
    let shop = ObjectName::new("team", "shop");
    let service = json!({ "spec": {
        "type": "ClusterIP", "clusterIP": "10.0.0.1", "ipFamilies": ["IPv4"],
        "selector": { "app": "web" },
        "ports": [{ "name": "web", "protocol": "TCP", "port": 80 }],
    }});
    own.create(kinds::SERVICE, &shop, service).unwrap();
    own.create(kinds::SERVICE_EXPORT, &shop, json!({})).unwrap();
    let wanted = json!({ "spec": { "serviceImport": { "name": "web" } } });
    own.create(kinds::MULTI_CLUSTER_SERVICE, &ObjectName::new("team", "web"), wanted).unwrap();
    let joins = json!({ "spec": { "state": "Join", "heartbeatPeriodSeconds": 60 } });
    let name = ObjectName::new("fleet-member-a", "a");
    hub.create(kinds::INTERNAL_MEMBER_CLUSTER, &name, joins).unwrap();
    (crate::tests::snapshot(&settings.identity, &own, &hub), own.now())
}

#[test]
fn planning_twice_gives_equal_plans_and_moves_no_metric() {
    let settings = Settings { endpointslices: Mode::All, ..Settings::new("a") };
    let (snapshot, now) = member(&settings);
    let registry = Registry::new();
    let _recorders = (
        ExportMetrics::register(&registry).unwrap(),
        ImportMetrics::register(&registry, "a").unwrap(),
        SliceMetrics::register(&registry, 100).unwrap(),
    );
    let series = || TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
    let before = series();
    let settings = || settings.clone();
    let counts = [
        plans_computed_twice(&ExportController { settings: settings() }, &snapshot, now).len(),
        plans_computed_twice(&ImportController::new(settings()), &snapshot, now).len(),
        plans_computed_twice(&MembershipController::new(settings()), &snapshot, now).len(),
        plans_computed_twice(&EndpointSliceController { settings: settings() }, &snapshot, now)
            .len(),
        plans_computed_twice(&ExternalWorkloadController::default(), &snapshot, now).len(),
    ];
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    assert_eq!(series(), before);
}
