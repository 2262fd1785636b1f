//! `fleetctl doctor --fix-plan` in a fleet that the charts have made: what is broken all at once, as it breaks in reality, is mended by
//! the script that it prints, with the Helm of each cluster. The kubeconfig has another fleet, too, which has the usual names.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use fleet_api::{ResourceKind, kinds};
use fleet_runtime::clock::Clock;
use fleet_testbed::apply::apply;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::exchange::{export, unexport, wait_imported};
use fleet_testbed::helm::Release;
use fleet_testbed::join::namespace;
use fleet_testbed::objects::{api, find, remove};
use fleet_testbed::rbac::member_on_hub;
use fleet_testbed::wait::{wait_for, wait_until};
use fleet_testbed::workload::{ManualService, ServiceSpec, next_address};
use kube::api::ListParams;
use serde_json::{Value, json};

use crate::crossing::{SHOP, WEB};
use crate::definitions::copy;
use crate::desk::{Desk, FLEET};
use crate::fleet::{DEADLINE, Fleet};

const RBAC: ResourceKind = ResourceKind {
    group: "rbac.authorization.k8s.io",
    version: "v1",
    kind: "ClusterRoleBinding",
    plural: "clusterrolebindings",
    namespaced: false,
};
const OF_MEMBER: ResourceKind =
    ResourceKind { kind: "RoleBinding", plural: "rolebindings", namespaced: true, ..RBAC };
const DEFINITION: ResourceKind = ResourceKind {
    group: "apiextensions.k8s.io",
    version: "v1",
    kind: "CustomResourceDefinition",
    plural: "customresourcedefinitions",
    namespaced: false,
};
const POLICY_BINDING: ResourceKind = ResourceKind {
    group: "admissionregistration.k8s.io",
    version: "v1",
    kind: "ValidatingAdmissionPolicyBinding",
    plural: "validatingadmissionpolicybindings",
    namespaced: false,
};
/// A namespace that the hub does not have.
const GHOST: &str = "ghost";
/// West exports nothing, so that nothing goes with the definition.
const EXPORTS: &str = "serviceexports.networking.fleet.azure.com";
/// For how many seconds a token is good that is near its end.
const LASTS: i64 = 1800;

/// What is broken, by what the doctor finds of it.
const BROKEN: [(&str, &str, &str); 14] = [
    ("hub", "hub-kinds", "lacks 1 bounds"),
    ("hub", "hub-rights", "lacks 1 rights that the chart grants: get namespaces"),
    ("hub", "hub-policies", "of another release than"),
    ("hub", "hub-policies", "have no binding"),
    ("hub", "hub-namespaces", "in the namespace ghost, which the hub does not have"),
    ("hub", "ranges", "Pods of two members have the same addresses"),
    ("east", "kinds", "lacks 1 bounds"),
    ("east", "rights", "lacks 1 rights that the chart grants: patch events"),
    ("east", "policies", "of another release than"),
    ("east", "token", "the token for the hub"),
    ("west", "kinds", "definitions are missing: serviceexports"),
    ("west", "rights", "rights that the chart grants"),
    ("west", "policies", "have no binding"),
    ("west", "hub-access", "rights there that the chart hub-agent grants"),
];

/// Those that have no command: there is something to decide.
const BY_HAND: [&str; 2] = ["ranges", "hub-access"];

/// Other agents go on meanwhile, and the Service crosses once all is mended.
pub(crate) async fn what_is_broken(fleet: &Fleet, web: &ManualService) -> Result<()> {
    let (desk, began) = (Desk::new(fleet).await?, Instant::now());
    let sound = desk.examine().await?;
    ensure!(sound["failures"] == 0, "an installed fleet is sound: {sound:#}");
    break_all(fleet).await?;
    let found = wait_for("all that is broken is found", DEADLINE, async || {
        let found = desk.examine().await?;
        let missing: Vec<_> = BROKEN.iter().filter(|broken| !has(&found, broken)).collect();
        ensure!(missing.is_empty(), "{missing:?} are not in {found:#}");
        Ok(Some(found))
    })
    .await?;
    for line in found["results"].as_array().into_iter().flatten() {
        let check = line["check"].as_str().unwrap_or_default();
        let is_broken = BROKEN.iter().any(|broken| is(line, broken));
        let is_mended = line["command"].is_string() != BY_HAND.contains(&check);
        ensure!(!is_broken || is_mended, "a command, where nothing is to be decided: {line:#}");
    }
    let planned =
        format!("fleetctl doctor {FLEET} --fix-plan > plan.sh || [ $? = 1 ]; cat plan.sh");
    let plan = desk.run(&planned).await?;
    let token = "\nfleetctl join east --secret --print nothing --hub-context prod-hub --member east=prod-east\n";
    ensure!(plan.contains(token), "{plan}");
    desk.run("sh plan.sh").await?;
    desk.run(&format!("fleetctl join west --print nothing {FLEET}")).await?;
    remove(fleet.west(), kinds::NODE, ("", GHOST)).await?;
    wait_until("the doctor is silent", DEADLINE, async || {
        let found = desk.examine().await?;
        ensure!(
            is_silent(&found),
            "{found:#}\n{}",
            std::fs::read_to_string(desk.folder.join("plan.sh"))?
        );
        Ok(true)
    })
    .await?;
    let plan = desk.run(&format!("fleetctl doctor {FLEET} --fix-plan")).await?;
    ensure!(plan.contains("# No command mends anything."), "{plan}");
    works(fleet, web).await?;
    eprintln!("a dozen things are broken and mended in {:.1?}", began.elapsed());
    Ok(())
}

fn is(line: &Value, (cluster, check, words): &(&str, &str, &str)) -> bool {
    let says = |field: &str| line[field].as_str().unwrap_or_default();
    says("cluster") == *cluster && says("check") == *check && says("finding").contains(words)
}

/// Nothing but what is good to know.
fn is_silent(found: &Value) -> bool {
    let mut lines = found["results"].as_array().into_iter().flatten();
    lines.all(|line| line["level"] == "ok" || line["level"] == "information")
}

fn has(found: &Value, broken: &(&str, &str, &str)) -> bool {
    found["results"].as_array().into_iter().flatten().any(|line| is(line, broken))
}

async fn break_all(fleet: &Fleet) -> Result<()> {
    let (hub, east, west) = (fleet.hub(), fleet.east(), fleet.west());
    for (cluster, name, edits) in
        [(hub, "hub-agent", OF_HUB), (east, "member-agent", OF_MEMBER_CHART)]
    {
        let release = fleet.release(cluster, name);
        let chart = older(fleet, &release, &edits)?;
        let past = Release { chart, ..release };
        past.upgrade(&json!({}), &["--reuse-values"]).await?;
    }
    unbind_policy(hub, "hub-agent").await?;
    unbind_policy(west, "member-agent").await?;
    remove(west, DEFINITION, ("", EXPORTS)).await?;
    remove(west, RBAC, ("", "member-agent")).await?;
    let home = "fleet-member-west";
    remove(hub, OF_MEMBER, (home, "fleet-rolebinding-west")).await?;

    namespace(&east.client(), GHOST).await?;
    let ghost = ServiceSpec::http(GHOST, WEB);
    ManualService::deploy(east, &ghost, &[next_address()]).await?;
    export(east, GHOST, WEB).await?;
    for cluster in [east, west] {
        let node = json!({
            "apiVersion": "v1", "kind": "Node", "metadata": { "name": GHOST },
            "spec": { "podCIDR": "10.244.7.0/24", "podCIDRs": ["10.244.7.0/24"] },
        });
        apply(&cluster.client(), node).await?;
    }
    let fresh = member_on_hub(east.name()).token(&hub.client()).await?;
    let plane = hub.control_plane().context("the hub is the testbed's")?;
    let old = plane.token_ending_at(&fresh, Clock::system().now().as_second() + LASTS)?;
    fleet.hand_over(east, &old).await
}

/// The edits that make a chart of before of this one: file, text, and its place.
type Edits = [(&'static str, &'static str, &'static str); 3];
const OF_HUB: Edits = [
    ("Chart.yaml", "appVersion: ", "appVersion: 0.1.9 # "),
    (
        "files/crds/networking.fleet.azure.com_internalserviceexports.yaml",
        "maxLength: 317",
        "maxLength: 318",
    ),
    ("rbac.yaml", "[namespaces]\n  verbs: [get, list", "[namespaces]\n  verbs: [list"),
];
const OF_MEMBER_CHART: Edits = [
    ("Chart.yaml", "appVersion: ", "appVersion: 0.1.9 # "),
    (
        "files/crds/networking.fleet.azure.com_serviceexports.yaml",
        "maxLength: 1024",
        "maxLength: 1025",
    ),
    ("rbac.yaml", "[events]\n  verbs: [create, patch]", "[events]\n  verbs: [create]"),
];

/// The chart as it might have been in an earlier release.
fn older(fleet: &Fleet, release: &Release<'_>, edits: &Edits) -> Result<PathBuf> {
    let older = fleet.bare().run().folder(&format!("past-{}", release.name))?;
    copy(&release.chart, &older)?;
    for (file, text, past) in edits {
        let file = older.join(file);
        let now = std::fs::read_to_string(&file)?;
        ensure!(now.contains(text), "{text:?} is not in {}", file.display());
        std::fs::write(&file, now.replacen(text, past, 1))?;
    }
    Ok(older)
}

/// Deletes the binding of the first policy of a chart.
async fn unbind_policy(cluster: &Cluster, chart: &str) -> Result<()> {
    let labels = format!("app.kubernetes.io/name={chart}");
    let bindings = api(cluster.client(), POLICY_BINDING, None);
    let all = bindings.list(&ListParams::default().labels(&labels)).await?.items;
    let name = all.first().and_then(|it| it.metadata.name.as_deref()).context("a binding")?;
    remove(cluster, POLICY_BINDING, ("", name)).await
}

/// What was mended serves its purpose; what was made for this is gone.
async fn works(fleet: &Fleet, web: &ManualService) -> Result<()> {
    let (hub, east, west) = (fleet.hub(), fleet.east(), fleet.west());
    let address = next_address();
    web.set_addresses(std::slice::from_ref(&address)).await?;
    wait_imported(west, SHOP, WEB, &BTreeSet::from([address]), DEADLINE).await?;
    remove(east, kinds::NODE, ("", GHOST)).await?;
    unexport(east, GHOST, WEB).await?;
    wait_until("the export is withdrawn", DEADLINE, async || {
        let place = ("fleet-member-east", "ghost-web");
        Ok(find(hub, kinds::INTERNAL_SERVICE_EXPORT, place).await?.is_none())
    })
    .await
}
