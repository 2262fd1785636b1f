//! A1 to A7: in its own cluster a member agent writes what is its own, whatever its rights allow. What it writes, agents of 0.1.0
//! among it, passes.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use fleet_api::{ResourceKind, annotations, finalizers, kinds, labels};
use fleet_testbed::policies;
use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy;
use kube::Api;
use serde_json::{Value, json};

use crate::Tests;
use crate::ways::{
    REMOVING, WAYS, Way, change, create, create_by_apply, delete, passed, refused, refused_by_all,
};
use crate::world::{TEAM, World};

const PAGE: &str = include_str!("../../../docs/security.md");
const SYSTEM: &str = "fleet-system";
const EVENT: ResourceKind = ResourceKind {
    group: "events.k8s.io",
    version: "v1",
    kind: "Event",
    plural: "events",
    namespaced: true,
};
const RULES: [&str; 7] = ["A1", "A2", "A3", "A4", "A5", "A6", "A7"];

type Change = fn(&mut Value);

pub(crate) fn add(tests: &mut Tests) {
    tests.add("A1::only_derived_services", only_derived_services);
    tests.add("A1::derived_services_lead_to_imported_endpoints", derived_services_lead_to_imports);
    tests.add("A1::what_users_have_changed_blocks_nothing", what_users_have_changed_blocks_nothing);
    tests.add("A2::only_slices_of_its_managers", only_slices_of_its_managers);
    tests.add("A3::objects_of_users_are_theirs", objects_of_users_are_theirs);
    tests.add("A4::only_service_imports_that_it_made", only_service_imports_that_it_made);
    tests.add("A5::only_its_own_lease", only_its_own_lease);
    tests.add("A6::events_in_its_own_name", events_in_its_own_name);
    tests.add("A::the_page_says_what_they_say", the_page_says_what_they_say);
    tests.add("A::all_are_well_typed", all_are_well_typed);
    tests.add("A::they_bind_no_one_else", they_bind_no_one_else);
}

fn object(kind: ResourceKind, namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata": { "name": name, "namespace": namespace },
    })
}

/// A derived Service as the agent makes it; one of 0.1.0 makes it without `ipFamilyPolicy`.
fn derived(name: &str, service_type: &str) -> Value {
    let mut service = object(kinds::SERVICE, SYSTEM, name);
    service["metadata"]["labels"] = json!({
        labels::MULTI_CLUSTER_SERVICE_NAME: name, labels::MULTI_CLUSTER_SERVICE_NAMESPACE: TEAM,
    });
    service["metadata"]["annotations"] = json!({
        annotations::FLEET_SERVICE: format!("{TEAM}/{name}"), annotations::MULTI_CLUSTER_SERVICE_UID: "u",
        annotations::SERVICE_AZURE_LOAD_BALANCER_INTERNAL: "true",
    });
    service["spec"] = json!({ "type": service_type, "ports": [{ "name": "http", "port": 80 }] });
    service
}

/// A Service of a user beside the derived ones.
fn foreign(name: &str) -> Value {
    let mut service = object(kinds::SERVICE, SYSTEM, name);
    service["spec"] = json!({ "ports": [{ "port": 80 }], "selector": { "app": "metrics" } });
    service
}

async fn only_derived_services(world: &World) -> Result<()> {
    let (agent, admin) = (&world.own_agent, &world.own_admin);
    let theirs = passed("a user's", create(admin, kinds::SERVICE, &foreign("metrics")).await?)?;
    let ports = |service: &mut Value| service["spec"]["ports"] = json!([{ "port": 81 }]);
    refused_by_all(("a user's", &REMOVING), agent, kinds::SERVICE, &theirs, ports, "A1").await?;
    let claimed = |service: &mut Value| {
        service["metadata"]["labels"] =
            derived("metrics", "ClusterIP")["metadata"]["labels"].clone();
        service["metadata"]["annotations"] =
            derived("metrics", "ClusterIP")["metadata"]["annotations"].clone();
    };
    refused_by_all(("claimed", &WAYS), agent, kinds::SERVICE, &theirs, claimed, "A1").await?;
    refused("deleted", delete(agent, kinds::SERVICE, &theirs).await?, "A1")?;

    let new = foreign("new");
    refused("no labels", create(agent, kinds::SERVICE, &new).await?, "A1")?;
    refused("no labels", create_by_apply(agent, kinds::SERVICE, &new).await?, "A1")?;
    let mut elsewhere = derived("elsewhere", "ClusterIP");
    elsewhere["metadata"]["namespace"] = json!(TEAM);
    refused("elsewhere", create(agent, kinds::SERVICE, &elsewhere).await?, "A1")?;
    Ok(())
}

async fn derived_services_lead_to_imports(world: &World) -> Result<()> {
    let agent = &world.own_agent;
    let bad: [(&str, Change); 9] = [
        ("selector", |it| it["spec"]["selector"] = json!({ "app": "metrics" })),
        ("external IPs", |it| it["spec"]["externalIPs"] = json!(["192.0.2.1"])),
        ("node port", |it| it["spec"]["type"] = json!("NodePort")),
        ("external name", |it| {
            it["spec"] = json!({ "type": "ExternalName", "externalName": "example.com" });
        }),
        ("address", |it| {
            it["spec"]["type"] = json!("LoadBalancer");
            it["spec"]["loadBalancerIP"] = json!("192.0.2.1");
        }),
        ("annotation", |it| {
            it["metadata"]["annotations"]["external-dns.alpha.kubernetes.io/hostname"] =
                json!("example.com");
        }),
        ("label", |it| it["metadata"]["labels"]["app"] = json!("metrics")),
        ("owner", |it| {
            it["metadata"]["ownerReferences"] =
                json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u" }]);
        }),
        ("finalizer", |it| it["metadata"]["finalizers"] = json!(["example.com/hold"])),
    ];
    for (what, spoil) in bad {
        let mut service = derived("bad", "ClusterIP");
        spoil(&mut service);
        refused(what, create(agent, kinds::SERVICE, &service).await?, "A1")?;
    }
    for (name, service_type) in [("a1-internal", "ClusterIP"), ("a1-balanced", "LoadBalancer")] {
        let service =
            passed(name, create(agent, kinds::SERVICE, &derived(name, service_type)).await?)?;
        for (what, spoil) in bad {
            if what != "external name" {
                let ways: &[Way] = &[Way::Put, Way::JsonPatch];
                refused_by_all((what, ways), agent, kinds::SERVICE, &service, spoil, "A1").await?;
            }
        }
        let ports = |it: &mut Value| it["spec"]["ports"] = json!([{ "name": "http", "port": 81 }]);
        passed("ports", change(agent, kinds::SERVICE, &service, Way::JsonPatch, ports).await?)?;
        for other in ["LoadBalancer", "ClusterIP"] {
            let other = |it: &mut Value| it["spec"]["type"] = json!(other);
            passed("type", change(agent, kinds::SERVICE, &service, Way::JsonPatch, other).await?)?;
        }
        passed("deleted", delete(agent, kinds::SERVICE, &service).await?)?;
    }
    Ok(())
}

/// A derived Service that users and controllers have changed is restored as far as it is the agent's, by agents of today and of
/// 0.1.0, and so is one that a Go agent has made: it has labels only.
async fn what_users_have_changed_blocks_nothing(world: &World) -> Result<()> {
    let (agent, admin) = (&world.own_agent, &world.own_admin);
    let mut service = derived("a1-changed", "NodePort");
    service["metadata"]["annotations"] = json!({ "example.com/note": "mine" });
    service["metadata"]["finalizers"] = json!(["service.kubernetes.io/load-balancer-cleanup"]);
    service["spec"]["externalIPs"] = json!(["192.0.2.1"]);
    service["spec"]["selector"] = json!({ "app": "web" });
    let service = passed("changed", create(admin, kinds::SERVICE, &service).await?)?;
    let ports = |it: &mut Value| {
        it["metadata"]["annotations"][annotations::FLEET_SERVICE] = json!("team/a1-changed");
        it["metadata"]["annotations"][annotations::MULTI_CLUSTER_SERVICE_UID] = json!("u");
        it["spec"]["ports"] = json!([{ "name": "http", "port": 81 }]);
    };
    passed("ports", change(agent, kinds::SERVICE, &service, Way::JsonPatch, ports).await?)?;
    let restored = |it: &mut Value| {
        it["spec"]["type"] = json!("LoadBalancer");
        if let Some(spec) = it["spec"].as_object_mut() {
            spec.remove("selector");
        }
    };
    passed("restored", change(agent, kinds::SERVICE, &service, Way::JsonPatch, restored).await?)?;
    // A user takes the labels off: the mark shows whose it is.
    let bare = |it: &mut Value| it["metadata"]["labels"] = json!({});
    passed("bare", change(admin, kinds::SERVICE, &service, Way::Put, bare).await?)?;
    let labelled = |it: &mut Value| {
        it["metadata"]["labels"] = derived("a1-changed", "NodePort")["metadata"]["labels"].clone();
    };
    passed("labelled", change(agent, kinds::SERVICE, &service, Way::JsonPatch, labelled).await?)?;
    passed("bare", change(admin, kinds::SERVICE, &service, Way::Put, bare).await?)?;
    passed("deleted", delete(agent, kinds::SERVICE, &service).await?)?;
    let released = |it: &mut Value| it["metadata"]["finalizers"] = json!([]);
    passed("released", change(admin, kinds::SERVICE, &service, Way::JsonPatch, released).await?)?;
    Ok(())
}

fn slice(namespace: &str, name: &str, manager: Option<&str>) -> Value {
    let mut slice = object(kinds::ENDPOINT_SLICE, namespace, name);
    slice["metadata"]["labels"] = json!({ labels::SERVICE_NAME: "web" });
    if let Some(manager) = manager {
        slice["metadata"]["labels"][labels::MANAGED_BY] = json!(manager);
    }
    slice["addressType"] = json!("IPv4");
    slice["endpoints"] = json!([{ "addresses": ["10.1.0.1"] }]);
    slice["ports"] = json!([{ "port": 80 }]);
    slice
}

async fn only_slices_of_its_managers(world: &World) -> Result<()> {
    const KIND: ResourceKind = kinds::ENDPOINT_SLICE;
    const BUILT_IN: &str = "endpointslice-controller.k8s.io";
    let (agent, admin) = (&world.own_agent, &world.own_admin);
    let again = |it: &mut Value| it["endpoints"] = json!([{ "addresses": ["10.1.0.2"] }]);
    for (namespace, manager) in [
        (SYSTEM, labels::MANAGED_BY_IMPORT),
        (TEAM, labels::MANAGED_BY_EXTERNAL_WORKLOADS),
        (TEAM, labels::MANAGED_BY_NETWORK),
    ] {
        let own = slice(namespace, "a2-own", Some(manager));
        let own = passed(manager, create(agent, KIND, &own).await?)?;
        passed(manager, change(agent, KIND, &own, Way::Put, again).await?)?;
        let given = |it: &mut Value| it["metadata"]["labels"][labels::MANAGED_BY] = json!(BUILT_IN);
        refused_by_all(("given away", &REMOVING), agent, KIND, &own, given, "A2").await?;
        passed(manager, delete(agent, KIND, &own).await?)?;
    }
    for (namespace, manager) in [
        (TEAM, Some(labels::MANAGED_BY_IMPORT)),
        (TEAM, Some(BUILT_IN)),
        (TEAM, None),
        (SYSTEM, Some(BUILT_IN)),
        (SYSTEM, None),
        ("default", Some(labels::MANAGED_BY_IMPORT)),
    ] {
        let what = format!("{manager:?} in {namespace}");
        let new = slice(namespace, "a2-new", manager);
        refused(&what, create(agent, KIND, &new).await?, "A2")?;
        refused(&what, create_by_apply(agent, KIND, &new).await?, "A2")?;
        let mut theirs = new.clone();
        theirs["metadata"]["name"] = json!(format!("a2-theirs-{}", manager.map_or(0, str::len)));
        if manager == Some(labels::MANAGED_BY_IMPORT) {
            theirs["metadata"]["labels"][labels::MANAGED_BY] = json!("example.com");
        }
        let theirs = passed(&what, create(admin, KIND, &theirs).await?)?;
        refused_by_all((&what, &[Way::Put]), agent, KIND, &theirs, again, "A2").await?;
        let taken = |it: &mut Value| {
            it["metadata"]["labels"][labels::MANAGED_BY] = json!(labels::MANAGED_BY_NETWORK);
        };
        refused_by_all((&what, &REMOVING), agent, KIND, &theirs, taken, "A2").await?;
        refused(&what, delete(agent, KIND, &theirs).await?, "A2")?;
        passed(&what, delete(admin, KIND, &theirs).await?)?;
    }
    // A user has changed the label of an imported slice; the annotation shows whose it is.
    let mut altered = slice(SYSTEM, "a2-altered", Some("me"));
    altered["metadata"]["annotations"] = json!({ annotations::FLEET_SERVICE: "team/web" });
    let altered = passed("altered", create(admin, KIND, &altered).await?)?;
    let restored = |it: &mut Value| {
        it["metadata"]["labels"][labels::MANAGED_BY] = json!(labels::MANAGED_BY_IMPORT);
    };
    passed("restored", change(agent, KIND, &altered, Way::Put, restored).await?)?;
    passed("deleted", delete(agent, KIND, &altered).await?)
}

async fn objects_of_users_are_theirs(world: &World) -> Result<()> {
    let (agent, admin) = (&world.own_agent, &world.own_admin);
    for (kind, finalizer) in [
        (kinds::SERVICE_EXPORT, finalizers::SERVICE_EXPORT),
        (kinds::MULTI_CLUSTER_SERVICE, finalizers::MULTI_CLUSTER_SERVICE),
    ] {
        let mut theirs = object(kind, TEAM, "a3");
        theirs["metadata"]["labels"] = json!({ "a": "b" });
        theirs["metadata"]["annotations"] = json!({ "a": "b" });
        let labels_own = kind == kinds::MULTI_CLUSTER_SERVICE;
        if labels_own {
            theirs["spec"] = json!({ "serviceImport": { "name": "web" } });
        }
        refused("made", create(agent, kind, &theirs).await?, "A3")?;
        let theirs = passed("by a user", create(admin, kind, &theirs).await?)?;
        let bad: [(&str, Change); 4] = [
            ("label", |it| it["metadata"]["labels"]["a"] = json!("c")),
            ("annotation", |it| it["metadata"]["annotations"]["a"] = json!("c")),
            ("finalizer", |it| it["metadata"]["finalizers"] = json!(["example.com/hold"])),
            ("owner", |it| {
                it["metadata"]["ownerReferences"] =
                    json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u" }]);
            }),
        ];
        for (what, spoil) in bad {
            refused_by_all((what, &WAYS), agent, kind, &theirs, spoil, "A3").await?;
        }
        let own = |it: &mut Value| {
            it["metadata"]["finalizers"] = json!([finalizer]);
            if labels_own {
                it["metadata"]["labels"][labels::SERVICE_IMPORT] = json!("web");
                it["metadata"]["labels"][labels::DERIVED_SERVICE] = json!("team-web");
            }
        };
        passed("its own", change(agent, kind, &theirs, Way::JsonPatch, own).await?)?;
        if labels_own {
            let other = |it: &mut Value| it["spec"]["serviceImport"]["name"] = json!("other");
            refused_by_all(("spec", &WAYS), agent, kind, &theirs, other, "A3").await?;
        }
        let status = |it: &mut Value| {
            it["status"] = json!({ "conditions": [{ "type": "Valid", "status": "True", "reason": "r",
                "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z" }] });
        };
        passed("status", change(agent, kind, &theirs, Way::JsonPatch, status).await?)?;
        // The member leaves.
        passed("deleted", delete(agent, kind, &theirs).await?)?;
        let released = |it: &mut Value| it["metadata"]["finalizers"] = json!([]);
        passed("released", change(agent, kind, &theirs, Way::JsonPatch, released).await?)?;
    }
    Ok(())
}

async fn only_service_imports_that_it_made(world: &World) -> Result<()> {
    const KIND: ResourceKind = kinds::SERVICE_IMPORT;
    let (agent, admin) = (&world.own_agent, &world.own_admin);
    // One that exists, or the garbage collector deletes what it owns.
    let mut wanted = object(kinds::MULTI_CLUSTER_SERVICE, TEAM, "a4");
    wanted["spec"] = json!({ "serviceImport": { "name": "a4" } });
    let wanted = passed("by a user", create(admin, kinds::MULTI_CLUSTER_SERVICE, &wanted).await?)?;
    let uid = wanted["metadata"]["uid"].as_str().context("a uid")?;
    let owner = |kind: &str| {
        json!([{ "apiVersion": kinds::MULTI_CLUSTER_SERVICE.api_version(), "kind": kind,
            "name": "a4", "uid": uid, "controller": true }])
    };
    let mut own = object(KIND, TEAM, "a4");
    own["metadata"]["finalizers"] = json!([finalizers::SERVICE_IMPORT]);
    refused("without owner", create(agent, KIND, &own).await?, "A4")?;
    own["metadata"]["ownerReferences"] = owner("ConfigMap");
    refused("of another", create(agent, KIND, &own).await?, "A4")?;
    own["metadata"]["ownerReferences"] = owner("MultiClusterService");
    let made = passed("its own", create(agent, KIND, &own).await?)?;
    let spoilt = |it: &mut Value| it["metadata"]["labels"] = json!({ "a": "b" });
    refused_by_all(("label", &WAYS), agent, KIND, &made, spoilt, "A4").await?;
    let held = |it: &mut Value| it["metadata"]["finalizers"] = json!(["example.com/hold"]);
    refused_by_all(("finalizer", &REMOVING), agent, KIND, &made, held, "A4").await?;
    // A user takes the owner off, and the agent puts it back.
    let bare = |it: &mut Value| it["metadata"]["ownerReferences"] = json!([]);
    passed("bare", change(admin, KIND, &made, Way::Put, bare).await?)?;
    let restored =
        |it: &mut Value| it["metadata"]["ownerReferences"] = owner("MultiClusterService");
    passed("restored", change(agent, KIND, &made, Way::JsonPatch, restored).await?)?;
    passed("deleted", delete(agent, KIND, &made).await?)?;
    let released = |it: &mut Value| it["metadata"]["finalizers"] = json!([]);
    passed("released", change(agent, KIND, &made, Way::JsonPatch, released).await?)?;

    passed("by a user", delete(admin, kinds::MULTI_CLUSTER_SERVICE, &wanted).await?)?;

    // That of a hub, which has the same finalizer.
    let mut hubs = object(KIND, TEAM, "a4-hub");
    hubs["metadata"]["finalizers"] = json!([finalizers::SERVICE_IMPORT]);
    hubs["metadata"]["annotations"] = json!({ annotations::SERVICE_IN_USE_BY: "{}" });
    let hubs = passed("by the hub", create(admin, KIND, &hubs).await?)?;
    refused_by_all(("the hub's", &REMOVING), agent, KIND, &hubs, released, "A4").await?;
    refused("the hub's", delete(agent, KIND, &hubs).await?, "A4")
}

async fn only_its_own_lease(world: &World) -> Result<()> {
    let agent = &world.own_agent;
    let other = object(kinds::LEASE, SYSTEM, "other");
    refused("another", create(agent, kinds::LEASE, &other).await?, "A5")?;
    let own = object(kinds::LEASE, SYSTEM, "member-agent.networking.fleet.azure.com");
    let own = passed("its own", create(agent, kinds::LEASE, &own).await?)?;
    let held = |it: &mut Value| it["spec"] = json!({ "holderIdentity": "me" });
    passed("its own", change(agent, kinds::LEASE, &own, Way::Put, held).await?)?;
    let other = passed("another", create(&world.own_admin, kinds::LEASE, &other).await?)?;
    refused_by_all(("another", &WAYS), agent, kinds::LEASE, &other, held, "A5").await?;
    refused("another", delete(agent, kinds::LEASE, &other).await?, "A5")
}

async fn events_in_its_own_name(world: &World) -> Result<()> {
    let agent = &world.own_agent;
    let event = |name: &str, reporter: &str| {
        let mut event = object(EVENT, TEAM, name);
        event["eventTime"] = json!("2026-01-01T00:00:00.000000Z");
        event["reportingController"] = json!(reporter);
        event["reportingInstance"] = json!("pod-1");
        event["action"] = json!("Reconcile");
        event["reason"] = json!("Blocked");
        event["type"] = json!("Warning");
        event["regarding"] = json!({ "kind": "ServiceExport", "namespace": TEAM, "name": "web" });
        event
    };
    passed("its own", create(agent, EVENT, &event("a6", "member-agent")).await?)?;
    refused("forged", create(agent, EVENT, &event("a6-forged", "kubelet")).await?, "A6")?;
    let theirs = create(&world.own_admin, EVENT, &event("a6-theirs", "kubelet")).await?;
    let theirs = passed("of another", theirs)?;
    let hidden = |it: &mut Value| {
        it["series"] = json!({ "count": 2, "lastObservedTime": "2026-01-01T00:00:00.000000Z" });
    };
    refused_by_all(
        ("of another", &[Way::Put, Way::MergePatch]),
        agent,
        EVENT,
        &theirs,
        hidden,
        "A6",
    )
    .await
}

/// The table of docs/security.md has each rule with what a refused writer reads.
async fn the_page_says_what_they_say(_: &World) -> Result<()> {
    let objects = policies::render_member(&json!({ "multicluster": { "mode": "on" } })).await?;
    let validations = objects.iter().filter_map(|object| object["spec"]["validations"].as_array());
    let mut seen = BTreeSet::new();
    for validation in validations.flatten() {
        let message = validation["message"].as_str().context("a message")?;
        let (rule, text) = message.split_once(": ").context("a rule")?;
        let row = PAGE.lines().find(|line| line.starts_with(&format!("| {rule} |")));
        let row = row.with_context(|| format!("docs/security.md has no row for {rule}"))?;
        ensure!(row.contains(text), "the row of {rule} does not have: {text}");
        seen.insert(rule.to_owned());
    }
    ensure!(seen == RULES.map(str::to_owned).into(), "{seen:?}");
    let off = policies::render_member(&json!({ "policies": { "enabled": false } })).await;
    ensure!(off.is_err(), "a value takes them away");
    Ok(())
}

async fn all_are_well_typed(world: &World) -> Result<()> {
    let api: Api<ValidatingAdmissionPolicy> = Api::all(world.own_admin.clone());
    for object in policies::render_member(&json!({ "multicluster": { "mode": "on" } })).await? {
        if object["kind"] == "ValidatingAdmissionPolicy" {
            crate::documents::is_well_typed(&api, &world.own_admin, &object).await?;
        }
    }
    Ok(())
}

/// Neither users nor Kubernetes' controllers are held to them.
async fn they_bind_no_one_else(world: &World) -> Result<()> {
    let mut service = derived("free", "NodePort");
    service["spec"]["externalIPs"] = json!(["192.0.2.1"]);
    service["metadata"]["labels"]["app"] = json!("mine");
    let made = passed("by an admin", create(&world.own_admin, kinds::SERVICE, &service).await?)?;
    passed("by an admin", delete(&world.own_admin, kinds::SERVICE, &made).await?)
}
