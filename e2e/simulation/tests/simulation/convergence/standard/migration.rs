//! From one API to the other and back (docs/migration.md#from-multiclusterservice-to-serviceimport): both serve while clients move,
//! and neither notices how the other one comes and goes.

use fleet_api::kinds;
use fleet_model_server::Write;

use super::{
    calm, change_endpoints, deploy, endpoints, export_labelled, ips, joined, judge, unexport, web,
};
use crate::convergence::fleet::{self, Counted, Fleet, bound, leftovers};

const EXPORTER: usize = 0;
const IMPORTER: usize = 1;
const SEEDS: u64 = 3;

/// What clients of the MultiClusterService reach.
fn behind_service(fleet: &mut Fleet) -> Vec<String> {
    bound(fleet.member(IMPORTER), "team-web")
}

/// The address of the ServiceImport, and what its clients reach.
fn behind_import(fleet: &mut Fleet) -> (String, Vec<String>) {
    (ips(fleet, IMPORTER).to_string(), endpoints(fleet, IMPORTER))
}

/// Runs until nothing moves, one write after the other, and looks after each of them: it stays as it is.
#[track_caller]
fn stays<T: PartialEq + std::fmt::Debug>(
    fleet: &mut Fleet,
    what: fn(&mut Fleet) -> T,
) -> Vec<Counted> {
    let before = what(fleet);
    let mut writes = Vec::new();
    while fleet.run_until_crash(1) {
        assert_eq!(what(fleet), before);
        writes.extend(fleet.take_writes());
    }
    calm(fleet);
    writes
}

fn begin_with_fleet_api(fleet: &mut Fleet) {
    fleet::export(&web(), fleet.member(EXPORTER));
    fleet::import(&web(), "web", fleet.member(IMPORTER));
}

fn end_fleet_api(fleet: &mut Fleet) {
    fleet.member(IMPORTER).delete(kinds::MULTI_CLUSTER_SERVICE, &web()).unwrap();
    fleet.member(EXPORTER).delete(kinds::SERVICE_EXPORT, &web()).unwrap();
}

/// What is left of the API of the fleet; the other one has EndpointSliceExports, too.
fn left_of_fleet_api(fleet: &Fleet) -> Vec<String> {
    leftovers(fleet, &[kinds::ENDPOINT_SLICE_EXPORT])
}

/// Whether a write is to what an API has made alone: in the system namespaces of members there is nothing of the standard one.
fn is_of_fleet_api((cluster, write): &Counted) -> bool {
    let Write { name, .. } = write;
    cluster != "hub" && *name.namespace == *"fleet-system"
}

#[test]
fn clients_of_a_multi_cluster_service_move_to_the_service_import() {
    for seed in 1..=SEEDS {
        let mut fleet = joined(&["a", "b"], seed);
        deploy(&mut fleet, EXPORTER, &["10.1.0.1"]);
        begin_with_fleet_api(&mut fleet);
        calm(&mut fleet);
        assert_eq!(behind_service(&mut fleet), ["10.1.0.1"]);

        export_labelled(&mut fleet, EXPORTER, &serde_json::json!({}));
        let writes = stays(&mut fleet, behind_service);
        assert!(!writes.iter().any(is_of_fleet_api), "{writes:#?}");
        change_endpoints(&mut fleet, EXPORTER, &["10.1.0.2"]);
        calm(&mut fleet);
        assert_eq!(behind_service(&mut fleet), ["10.1.0.2"]);
        assert_eq!(behind_import(&mut fleet).1, ["a 10.1.0.2"]);

        end_fleet_api(&mut fleet);
        stays(&mut fleet, behind_import);
        assert_eq!(left_of_fleet_api(&fleet), Vec::<String>::new());
        change_endpoints(&mut fleet, EXPORTER, &["10.1.0.3"]);
        calm(&mut fleet);
        assert_eq!(endpoints(&mut fleet, IMPORTER), ["a 10.1.0.3"]);
        judge(&fleet, "to the standard API");
    }
}

#[test]
fn clients_of_a_service_import_move_to_the_multi_cluster_service() {
    for seed in 1..=SEEDS {
        let mut fleet = joined(&["a", "b"], seed);
        super::export(&mut fleet, EXPORTER, &["10.1.0.1"]);
        calm(&mut fleet);
        assert_eq!(endpoints(&mut fleet, IMPORTER), ["a 10.1.0.1"]);

        begin_with_fleet_api(&mut fleet);
        stays(&mut fleet, behind_import);
        assert_eq!(behind_service(&mut fleet), ["10.1.0.1"]);

        unexport(&mut fleet, EXPORTER);
        stays(&mut fleet, behind_service);
        assert!(super::import(&mut fleet, IMPORTER).is_none());
        assert!(endpoints(&mut fleet, IMPORTER).is_empty());
        change_endpoints(&mut fleet, EXPORTER, &["10.1.0.2"]);
        calm(&mut fleet);
        assert_eq!(behind_service(&mut fleet), ["10.1.0.2"]);
        judge(&fleet, "back from the standard API");
    }
}
