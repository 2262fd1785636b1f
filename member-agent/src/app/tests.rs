use clap::Parser as _;
use fleet_accumulator::{SourceId, SourceSet};
use fleet_model_server::{ApiServer, ModelServer};

use super::*;
use crate::{Multicluster, MulticlusterMode, Traffic, VirtualNodes};

/// What an agent with these settings watches.
fn watched(settings: &Settings) -> SourceSet {
    let args = Args::try_parse_from(["member-agent"]).unwrap();
    let mut agent = Agent::within(NAME, VERSION, args.runtime()).unwrap();
    let (parts, memory) = (VirtualNodeParts::default(), TrafficMemory::default());
    add_controllers(&mut agent, settings, &parts, &memory, &HubAnswers::default()).unwrap();
    agent.reads()
}

fn fields(networking: bool, external_workloads: bool) -> Vec<&'static str> {
    let settings = Settings { networking, external_workloads, ..Settings::new("a") };
    fields_of(&settings)
}

fn fields_of(settings: &Settings) -> Vec<&'static str> {
    let watched = watched(settings);
    let sources = MemberSnapshot::sources().iter();
    sources.filter(|source| watched.contains(source.id)).map(|source| source.field).collect()
}

/// MIMC-6: networking features off: nothing but the membership is watched, and which cluster has it, so that the
/// other kinds may be absent.
#[test]
fn without_networking_features_only_the_membership_is_watched() {
    assert_eq!(fields(false, false), ["namespaces", "memberships", "cluster_reports"]);
}

#[test]
fn a_member_watches_what_it_exports_and_imports() {
    let expected = [
        "services",
        "service_exports",
        "endpoint_slices",
        "multi_cluster_services",
        "service_imports",
        "namespaces",
        "internal_exports",
        "slice_exports",
        "internal_imports",
        "slice_imports",
        "memberships",
        "cluster_reports",
        "schema",
        "service_cidrs",
        "node_addresses",
    ];
    assert_eq!(fields(true, false), expected);
}

/// Slices of pods alone need no second watch of all slices, but of those whose names are taken.
#[tokio::test]
async fn all_slices_are_watched_where_another_controller_requires_them() {
    let endpointslices = Mode::All;
    let alone = Settings { networking: false, endpointslices, ..Settings::new("a") };
    let expected = [
        "services",
        "endpoint_slices",
        "namespaces",
        "memberships",
        "cluster_reports",
        "managed_slices",
        "pods",
        "nodes",
    ];
    assert_eq!(fields_of(&alone), expected);
    let source = MemberSnapshot::endpoint_slices();
    let of_others = "endpointslice.kubernetes.io/managed-by notin \
        (endpointslice-controller.k8s.io,endpoint-network-controller.networking.fleet.azure.com)";
    assert_eq!(spec(&alone, source).labels.as_deref(), Some(of_others));
    for (networking, external_workloads) in [(true, false), (false, true)] {
        let settings = Settings { networking, external_workloads, ..alone.clone() };
        assert!(watched(&settings).contains(source));
        assert_eq!(spec(&settings, source).labels, None);
    }
}

#[test]
fn pods_and_nodes_are_watched_where_slices_are_made_of_them() {
    for (endpointslices, expected) in [(Mode::Off, 0), (Mode::OptIn, 3), (Mode::All, 3)] {
        let watched = watched(&Settings { endpointslices, ..Settings::new("a") });
        let own =
            [MemberSnapshot::pods(), MemberSnapshot::nodes(), MemberSnapshot::managed_slices()];
        let found = own.into_iter().filter(|source| watched.contains(*source)).count();
        assert_eq!(found, expected, "{endpointslices:?}");
    }
}

/// Off, nothing of the standard API is watched, so that neither its definitions nor a right are needed.
#[test]
fn the_standard_api_is_watched_where_it_is_served() {
    let own = [
        "standard_exports",
        "standard_imports",
        "cluster_properties",
        "exported_services",
        "resolved_services",
        "fleet_slices",
        "fleet_reports",
        "managed_slices",
    ];
    for (mode, expected) in
        [(MulticlusterMode::Off, 0), (MulticlusterMode::CleanUp, 8), (MulticlusterMode::On, 8)]
    {
        let multicluster = Multicluster { mode, ..Multicluster::default() };
        let watched = fields_of(&Settings { multicluster, ..Settings::new("a") });
        let found = own.iter().filter(|field| watched.contains(field)).count();
        assert_eq!(found, expected, "{mode:?}");
    }
}

/// Off, as by default, nothing of it is watched: neither a right nor a definition is needed.
#[test]
fn pods_of_others_are_watched_where_they_are_asked_for() {
    let own = [
        "offload_consent",
        "virtual_pods",
        "virtual_node_objects",
        "offload_config_maps",
        "offload_secrets",
        "virtual_nodes",
        "pod_exports",
        "remote_pods",
        "remote_config_maps",
        "pod_imports",
        "offload_offers",
    ];
    for (origin, executor, expected) in
        [(false, false, 0), (true, false, 7), (false, true, 5), (true, true, 11)]
    {
        let virtual_nodes = VirtualNodes { origin, executor, ..VirtualNodes::default() };
        let watched = fields_of(&Settings { virtual_nodes, ..Settings::new("a") });
        let found = own.iter().filter(|field| watched.contains(field)).count();
        assert_eq!(found, expected, "{origin} {executor}");
    }
}

/// Off, as by default, nothing of it is watched: neither a right nor a definition is needed.
#[test]
fn what_directs_traffic_is_watched_where_it_is_asked_for() {
    let own = [
        "managed_slices",
        "nodes",
        "service_traffics",
        "hub_service_traffics",
        "fleet_traffics",
        "member_traffics",
    ];
    for (enabled, expected) in [(false, 0), (true, 6)] {
        let traffic = Traffic { enabled, ..Traffic::default() };
        let watched = fields_of(&Settings { traffic, ..Settings::new("a") });
        let found = own.iter().filter(|field| watched.contains(field)).count();
        assert_eq!(found, expected, "{enabled}");
    }
}

/// What of a kind of the own cluster is watched.
fn spec(settings: &Settings, source: SourceId) -> SourceSpec {
    let own = ApiServer::new(ModelServer::new(ClusterId::Local)).client("a");
    scope::own(settings, &Selected::default(), source, SourceSpec::new(own))
}

#[tokio::test]
async fn linkerds_lease_is_watched_in_its_namespace_alone() {
    let settings = Settings { linkerd_namespace: "mesh".to_owned(), ..Settings::new("a") };
    let spec = spec(&settings, MemberSnapshot::linkerd_leases());
    assert_eq!(spec.namespace.as_deref(), Some("mesh"));
    let name = "metadata.name=linkerd-destination-endpoint-write";
    assert_eq!(spec.fields.as_deref(), Some(name));
}

#[test]
fn external_workloads_are_watched_where_they_are_asked_for() {
    let own = ["managed_slices", "external_workloads", "linkerd_leases"];
    assert!(fields(true, false).iter().all(|field| !own.contains(field)));
    assert!(own.iter().all(|field| fields(true, true).contains(field)));
    let alone = fields(false, true);
    assert!(own.iter().all(|field| alone.contains(field)));
    assert!(!alone.contains(&"internal_exports"));
}
