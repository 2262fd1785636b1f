//! The definitions against the tables of the original, kind by kind.
//!
//! Deliberate differences to the original's definitions:
//! - The two Traffic Manager kinds are not here: they program a cloud's DNS from the hub.
//! - `spec` of an `InternalServiceExport` is required; no agent ever created one without.
//! - An int-or-string is marked as one, without the redundant alternatives beside the mark.
//! - `apiVersion`, `kind` and `metadata` are not listed: the API server knows them.
//! - External workloads have the version alone that is stored.
//! - What members write to the hub, and what the hub copies of it, is bounded ([`limits`](crate::limits)).
//! - The membership kinds have one version, name only what the agents use and keep all else.
//! - Tables have more columns. Those of the original keep their order; the new ones are between them and the age.

mod bounds;
mod columns;
mod offload;
mod outline;
mod reachability;
mod released;
mod table;
mod traffic;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition, CustomResourceDefinitionVersion,
};
use kube::Resource;
use outline::outline;
use table::{EXPECTED, Expected};

use super::*;
use crate::multicluster::standard;
use crate::{ResourceKind, kinds};

fn all() -> Vec<CustomResourceDefinition> {
    [networking(), reports(), multicluster(), membership(), external_workloads()].concat()
}

#[test]
fn every_definition_is_as_the_tables_say() {
    let definitions = all();
    assert_eq!(definitions.len(), EXPECTED.len());
    for (crd, expected) in definitions.iter().zip(&EXPECTED) {
        check_names(crd, expected);
        for version in &crd.spec.versions {
            check_version(version, expected);
        }
    }
}

fn check_names(crd: &CustomResourceDefinition, expected: &Expected) {
    let ResourceKind { group, version, kind, plural, namespaced } = expected.kind;
    let names = &crd.spec.names;
    assert_eq!(crd.metadata.name.as_deref(), Some(&*format!("{plural}.{group}")));
    assert_eq!((&*crd.spec.group, &*names.kind, &*names.plural), (group, kind, plural));
    assert_eq!(names.list_kind.as_deref(), Some(&*format!("{kind}List")));
    assert_eq!(names.singular.as_deref(), Some(&*kind.to_ascii_lowercase()));
    assert_eq!(crd.spec.scope, if namespaced { "Namespaced" } else { "Cluster" });
    assert_eq!(names.categories.as_deref().unwrap_or_default(), expected.categories);
    assert_eq!(names.short_names.as_ref().map(|names| names.concat()).as_deref(), expected.short);
    assert_eq!(crd.spec.conversion, None, "{kind}: the versions have one schema");

    let mut versions: Vec<_> = crd.spec.versions.iter().map(|version| &*version.name).collect();
    versions.sort_unstable();
    assert_eq!(versions, expected.versions, "{kind}");
    let stored: Vec<_> = crd.spec.versions.iter().filter(|v| v.storage).map(|v| &v.name).collect();
    assert_eq!(stored, [version], "{kind}: the agents use the stored version");
}

fn check_version(version: &CustomResourceDefinitionVersion, expected: &Expected) {
    let kind = expected.kind.kind;
    assert!(version.served && version.deprecated.is_none(), "{kind}");

    let subresources = version.subresources.as_ref();
    let status = subresources.is_some_and(|subresources| subresources.status.is_some());
    assert_eq!(status, expected.status_subresource, "{kind}");

    let columns = version.additional_printer_columns.iter().flatten();
    let columns: Vec<_> =
        columns.map(|c| format!("{} {} {}{}", c.name, c.type_, c.json_path, wide(c))).collect();
    assert_eq!(columns, expected.columns, "{kind}");

    let root = version.schema.as_ref().unwrap().open_api_v3_schema.as_ref().unwrap();
    let rules = root.x_kubernetes_validations.iter().flatten();
    let rules: Vec<_> = rules.map(|rule| (&*rule.rule, rule.message.as_deref())).collect();
    let limit = ("size(self.metadata.name) < 64", Some("metadata.name max length is 63"));
    assert_eq!(rules, if expected.names_limited { vec![limit] } else { vec![] }, "{kind}");

    assert_eq!(outline(root), expected.schema.concat(), "{kind} {}", version.name);
}

fn wide(column: &CustomResourceColumnDefinition) -> &'static str {
    if column.priority.is_some_and(|priority| priority > 0) { " wide" } else { "" }
}

#[test]
fn members_get_what_their_users_see() {
    let kinds: Vec<_> = user_facing().into_iter().map(|crd| crd.spec.names.kind).collect();
    assert_eq!(kinds, ["ServiceExport", "ServiceImport", "MultiClusterService"]);
}

#[test]
fn finishing_twice_changes_nothing() {
    for crd in [all(), offloading(), super::traffic()].concat() {
        assert_eq!(finish(crd.clone()), crd);
    }
}

#[test]
fn every_property_says_what_it_is_for() {
    for crd in all() {
        for version in crd.spec.versions {
            let schema = version.schema.unwrap().open_api_v3_schema.unwrap();
            let silent = outline::without_description(&schema);
            assert!(silent.is_empty(), "{}: {silent:?}", crd.spec.names.kind);
        }
    }
}

#[test]
fn types_and_constants_name_the_same_kinds() {
    fn of<K: Resource<DynamicType = ()>>() -> [String; 4] {
        [K::group(&()), K::version(&()), K::kind(&()), K::plural(&())].map(String::from)
    }
    let pairs = [
        (of::<v1beta1::ServiceExport>(), kinds::SERVICE_EXPORT),
        (of::<v1alpha1::ServiceImport>(), kinds::SERVICE_IMPORT),
        (of::<v1alpha1::MultiClusterService>(), kinds::MULTI_CLUSTER_SERVICE),
        (of::<v1alpha1::InternalServiceExport>(), kinds::INTERNAL_SERVICE_EXPORT),
        (of::<v1alpha1::InternalServiceImport>(), kinds::INTERNAL_SERVICE_IMPORT),
        (of::<v1alpha1::EndpointSliceExport>(), kinds::ENDPOINT_SLICE_EXPORT),
        (of::<v1alpha1::EndpointSliceImport>(), kinds::ENDPOINT_SLICE_IMPORT),
        (of::<crate::multicluster::ClusterReport>(), kinds::CLUSTER_REPORT),
        (of::<crate::multicluster::ExportedService>(), kinds::EXPORTED_SERVICE),
        (of::<crate::multicluster::ResolvedService>(), kinds::RESOLVED_SERVICE),
        (of::<crate::multicluster::ReachReport>(), kinds::REACH_REPORT),
        (of::<crate::offload::OffloadOffer>(), kinds::OFFLOAD_OFFER),
        (of::<crate::offload::VirtualNode>(), kinds::VIRTUAL_NODE),
        (of::<crate::offload::PodExport>(), kinds::POD_EXPORT),
        (of::<crate::offload::PodImport>(), kinds::POD_IMPORT),
        (of::<crate::traffic::ServiceTraffic>(), kinds::SERVICE_TRAFFIC),
        (of::<crate::traffic::FleetTraffic>(), kinds::FLEET_TRAFFIC),
        (of::<crate::traffic::MemberTraffic>(), kinds::MEMBER_TRAFFIC),
        (of::<standard::ServiceExport>(), kinds::MCS_SERVICE_EXPORT),
        (of::<standard::ServiceImport>(), kinds::MCS_SERVICE_IMPORT),
        (of::<standard::ClusterProperty>(), kinds::CLUSTER_PROPERTY),
        (of::<membership::InternalMemberCluster>(), kinds::INTERNAL_MEMBER_CLUSTER),
        (of::<membership::MemberCluster>(), kinds::MEMBER_CLUSTER),
        (of::<workload::ExternalWorkload>(), kinds::EXTERNAL_WORKLOAD),
    ];
    for (typed, constant) in pairs {
        let ResourceKind { group, version, kind, plural, namespaced: _ } = constant;
        assert_eq!(typed, [group, version, kind, plural]);
    }
}
