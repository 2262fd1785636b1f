//! A2 and A7 for what a member agent imports through multicluster.x-k8s.io: it writes beside users' objects, and only its own.

use anyhow::{Context, Result};
use fleet_api::{ResourceKind, annotations, kinds, labels};
use serde_json::{Value, json};

use crate::Tests;
use crate::ways::{
    REMOVING, WAYS, Way, change, create, create_by_apply, delete, passed, refused, refused_by_all,
};
use crate::world::{TEAM, World};

const IMPORT: ResourceKind = kinds::MCS_SERVICE_IMPORT;
const SERVICE: ResourceKind = kinds::SERVICE;
const SLICE: ResourceKind = kinds::ENDPOINT_SLICE;

type Change = fn(&mut Value);

pub(crate) fn add(tests: &mut Tests) {
    tests.add("A7::only_service_imports_that_it_made", only_service_imports_that_it_made);
    tests.add("A7::derived_services_lead_to_imports", derived_services_lead_to_imports);
    tests.add("A7::a_selector_has_its_mark", a_selector_has_its_mark);
    tests.add("A2::what_kubernetes_leaves_behind_goes", what_kubernetes_leaves_behind_goes);
    tests.add("A7::services_of_users_are_theirs", services_of_users_are_theirs);
    tests.add("A2::imported_slices_back_derived_services", imported_slices_back_derived_services);
}

fn object(kind: ResourceKind, name: &str, more: &Value) -> Value {
    let mut object = json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata": { "name": name, "namespace": TEAM },
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        object[key] = value.clone();
    }
    object
}

/// A ServiceImport, with the mark of the agent's own.
fn import(name: &str) -> Value {
    let spec = json!({ "type": "ClusterSetIP", "ports": [{ "name": "http", "port": 80 }] });
    let mut import = object(IMPORT, name, &json!({ "spec": spec }));
    import["metadata"]["annotations"] = json!({ annotations::MULTICLUSTER_HUB: "uid/0" });
    import
}

/// The Service that is derived for it.
fn derived(name: &str, import: &Value) -> Result<Value> {
    let uid = import["metadata"]["uid"].as_str().context("a uid")?;
    let spec = json!({ "type": "ClusterIP", "ports": [{ "name": "http", "port": 80 }] });
    let mut service = object(SERVICE, name, &json!({ "spec": spec }));
    service["metadata"]["annotations"] =
        json!({ annotations::FLEET_SERVICE: format!("{TEAM}/web") });
    service["metadata"]["ownerReferences"] = json!([{
        "apiVersion": IMPORT.api_version(), "kind": IMPORT.kind,
        "name": import["metadata"]["name"], "uid": uid,
    }]);
    Ok(service)
}

fn held(object: &mut Value) {
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
}

fn owned(object: &mut Value) {
    let foreign = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u" });
    let owners = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
    object["metadata"]["ownerReferences"] = [owners, vec![foreign]].concat().into();
}

fn ported(object: &mut Value) {
    object["spec"]["ports"] = json!([{ "name": "http", "port": 81 }]);
}

fn ready(object: &mut Value) {
    object["status"] = json!({ "clusters": [{ "cluster": "east" }] });
}

async fn only_service_imports_that_it_made(world: &World) -> Result<()> {
    let (agent, admin) = (&world.own_agent, &world.own_admin);
    let mut unmarked = import("a7-unmarked");
    unmarked["metadata"]["annotations"] = json!({});
    refused("without its mark", create(agent, IMPORT, &unmarked).await?, "A7")?;
    refused("applied", create_by_apply(agent, IMPORT, &unmarked).await?, "A7")?;
    let own = passed("its own", create(agent, IMPORT, &import("a7-own")).await?)?;
    passed("ports", change(agent, IMPORT, &own, Way::Put, ported).await?)?;
    passed("status", change(agent, IMPORT, &own, Way::MergePatch, ready).await?)?;
    for (what, spoil) in [("finalizer", held as Change), ("owner", owned)] {
        refused_by_all((what, &WAYS), agent, IMPORT, &own, spoil, "A7").await?;
    }
    let given = |it: &mut Value| it["metadata"]["annotations"] = json!({ "a": "b" });
    refused_by_all(("given away", &REMOVING), agent, IMPORT, &own, given, "A7").await?;
    passed("deleted", delete(agent, IMPORT, &own).await?)?;

    let theirs = passed("another's", create(admin, IMPORT, &unmarked).await?)?;
    let taken = |it: &mut Value| {
        it["metadata"]["annotations"] = json!({ annotations::MULTICLUSTER_HUB: "uid/0" });
    };
    let changes: [(&str, Change); 3] = [("ports", ported), ("status", ready), ("taken", taken)];
    for (what, spoil) in changes {
        refused_by_all((what, &WAYS), agent, IMPORT, &theirs, spoil, "A7").await?;
    }
    refused("deleted", delete(agent, IMPORT, &theirs).await?, "A7")?;
    passed("deleted", delete(admin, IMPORT, &theirs).await?)
}

async fn derived_services_lead_to_imports(world: &World) -> Result<()> {
    let (agent, admin) = (&world.own_agent, &world.own_admin);
    let owner = passed("its import", create(agent, IMPORT, &import("a7-owner")).await?)?;
    let bad: [(&str, Change); 4] = [
        ("selector", |it| it["spec"]["selector"] = json!({ "app": "metrics" })),
        ("external IPs", |it| it["spec"]["externalIPs"] = json!(["192.0.2.1"])),
        ("node port", |it| it["spec"]["type"] = json!("NodePort")),
        ("owner", owned),
    ];
    for (what, spoil) in bad {
        let mut service = derived("derived-bad", &owner)?;
        spoil(&mut service);
        refused(what, create(agent, SERVICE, &service).await?, "A7")?;
    }
    for part in ["annotations", "ownerReferences"] {
        let mut service = derived("derived-bare", &owner)?;
        service["metadata"].as_object_mut().context("metadata")?.remove(part);
        refused(part, create(agent, SERVICE, &service).await?, "A7")?;
        refused(part, create_by_apply(agent, SERVICE, &service).await?, "A7")?;
    }
    let service = derived("derived-good", &owner)?;
    let service = passed("its own", create(agent, SERVICE, &service).await?)?;
    passed("ports", change(agent, SERVICE, &service, Way::JsonPatch, ported).await?)?;
    // Policies see what webhooks have added to a new object: only later a finalizer is the agent's own.
    for (what, spoil) in bad.into_iter().chain([("finalizer", held as Change)]) {
        let ways: &[Way] = &[Way::Put, Way::JsonPatch];
        refused_by_all((what, ways), agent, SERVICE, &service, spoil, "A7").await?;
    }
    // What users have changed is put right, as far as it is the agent's.
    let altered = |it: &mut Value| {
        it["metadata"]["labels"] = json!({ "team": "a" });
        it["metadata"]["annotations"] = json!({ "example.com/note": "mine" });
        it["spec"]["selector"] = json!({ "app": "web" });
    };
    passed("altered", change(admin, SERVICE, &service, Way::Put, altered).await?)?;
    refused_by_all(("half", &[Way::JsonPatch]), agent, SERVICE, &service, ported, "A7").await?;
    let restored = |it: &mut Value| {
        it["metadata"]["annotations"][annotations::FLEET_SERVICE] = json!(format!("{TEAM}/web"));
        it["spec"]["selector"] = json!({});
    };
    passed("restored", change(agent, SERVICE, &service, Way::JsonPatch, restored).await?)?;
    passed("deleted", delete(agent, SERVICE, &service).await?)?;
    passed("its import", delete(agent, IMPORT, &owner).await?)
}

/// Where administrators allow it, Kubernetes writes own endpoints of a derived Service.
async fn a_selector_has_its_mark(world: &World) -> Result<()> {
    let agent = &world.own_agent;
    let owner = passed("its import", create(agent, IMPORT, &import("a7-selecting")).await?)?;
    let service = derived("derived-selecting", &owner)?;
    let service = passed("its own", create(agent, SERVICE, &service).await?)?;
    let unmarked = |it: &mut Value| it["spec"]["selector"] = json!({ "app": "web" });
    refused_by_all(("unmarked", &WAYS), agent, SERVICE, &service, unmarked, "A7").await?;
    let marked = |it: &mut Value| {
        it["spec"]["selector"] = json!({ "app": "web" });
        it["metadata"]["annotations"][annotations::LOCAL_ENDPOINTS] = json!("Kubernetes");
        it["metadata"]["labels"] = json!({ labels::SKIP_MIRROR: "true" });
    };
    let service =
        passed("marked", change(agent, SERVICE, &service, Way::JsonPatch, marked).await?)?;
    let unmarked = |it: &mut Value| {
        let annotations = it["metadata"]["annotations"].as_object_mut();
        annotations.map(|all| all.remove(annotations::LOCAL_ENDPOINTS));
    };
    refused_by_all(("the mark", &REMOVING), agent, SERVICE, &service, unmarked, "A7").await?;
    passed("deleted", delete(agent, SERVICE, &service).await?)?;
    passed("its import", delete(agent, IMPORT, &owner).await?)
}

/// The slices of a derived Service that has lost its selector, and no others of Kubernetes.
async fn what_kubernetes_leaves_behind_goes(world: &World) -> Result<()> {
    const BUILT_IN: &str = "endpointslice-controller.k8s.io";
    let (agent, admin) = (&world.own_agent, &world.own_admin);
    for (name, service, goes) in
        [("left-derived", "derived-gone", true), ("left-user", "web", false)]
    {
        let more = json!({
            "addressType": "IPv4", "endpoints": [{ "addresses": ["10.1.0.1"] }],
            "ports": [{ "port": 80 }],
        });
        let mut slice = object(SLICE, name, &more);
        slice["metadata"]["labels"] =
            json!({ labels::MANAGED_BY: BUILT_IN, labels::SERVICE_NAME: service });
        refused(name, create(agent, SLICE, &slice).await?, "A2")?;
        let slice = passed(name, create(admin, SLICE, &slice).await?)?;
        let moved = |it: &mut Value| it["endpoints"] = json!([{ "addresses": ["10.1.0.2"] }]);
        refused_by_all((name, &WAYS), agent, SLICE, &slice, moved, "A2").await?;
        let deleted = delete(agent, SLICE, &slice).await?;
        if goes {
            passed(name, deleted)?;
        } else {
            refused(name, deleted, "A2")?;
            passed(name, delete(admin, SLICE, &slice).await?)?;
        }
    }
    Ok(())
}

/// Whatever their names are.
async fn services_of_users_are_theirs(world: &World) -> Result<()> {
    let (agent, admin) = (&world.own_agent, &world.own_admin);
    let owner = passed("its import", create(agent, IMPORT, &import("a7-users")).await?)?;
    for (name, rule) in [("derived-users", "A7"), ("users", "A1")] {
        let spec = json!({ "ports": [{ "port": 80 }], "selector": { "app": "web" } });
        let theirs = object(SERVICE, name, &json!({ "spec": spec }));
        let theirs = passed(name, create(admin, SERVICE, &theirs).await?)?;
        let claimed = |it: &mut Value| {
            let ours = derived(name, &owner).unwrap_or_default();
            it["metadata"]["annotations"] = ours["metadata"]["annotations"].clone();
            it["metadata"]["ownerReferences"] = ours["metadata"]["ownerReferences"].clone();
            it["spec"]["selector"] = json!({});
        };
        refused_by_all((name, &REMOVING), agent, SERVICE, &theirs, claimed, rule).await?;
        refused(name, delete(agent, SERVICE, &theirs).await?, rule)?;
        passed(name, delete(admin, SERVICE, &theirs).await?)?;
    }
    // No Service of another name is the agent's to make.
    refused("another name", create(agent, SERVICE, &derived("web", &owner)?).await?, "A1")?;
    passed("its import", delete(agent, IMPORT, &owner).await?)
}

async fn imported_slices_back_derived_services(world: &World) -> Result<()> {
    let agent = &world.own_agent;
    let slice = |name: &str, service: Option<&str>| {
        let more = json!({
            "addressType": "IPv4", "endpoints": [{ "addresses": ["10.1.0.1"] }],
            "ports": [{ "port": 80 }],
        });
        let mut slice = object(SLICE, name, &more);
        slice["metadata"]["labels"] = json!({
            labels::MANAGED_BY: labels::MANAGED_BY_MULTICLUSTER,
            labels::MULTICLUSTER_SERVICE_NAME: "web",
        });
        match service {
            Some(service) => slice["metadata"]["labels"][labels::SERVICE_NAME] = json!(service),
            None => slice["metadata"]["labels"][labels::HEADLESS] = json!(""),
        }
        slice
    };
    refused("a user's", create(agent, SLICE, &slice("a2-web", Some("web"))).await?, "A2")?;
    let mut unnamed = slice("a2-unnamed", None);
    unnamed["metadata"]["labels"] = json!({ labels::MANAGED_BY: labels::MANAGED_BY_MULTICLUSTER });
    refused("of no import", create(agent, SLICE, &unnamed).await?, "A2")?;
    for (name, service) in [("a2-derived", Some("derived-isrlchlhrq")), ("a2-headless", None)] {
        let own = passed(name, create(agent, SLICE, &slice(name, service)).await?)?;
        let moved =
            |it: &mut Value| it["metadata"]["labels"][labels::SERVICE_NAME] = json!("users");
        refused_by_all((name, &WAYS), agent, SLICE, &own, moved, "A2").await?;
        let again = |it: &mut Value| it["endpoints"] = json!([{ "addresses": ["10.1.0.2"] }]);
        passed(name, change(agent, SLICE, &own, Way::Put, again).await?)?;
        passed(name, delete(agent, SLICE, &own).await?)?;
    }
    Ok(())
}
