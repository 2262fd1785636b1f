//! A9: the agent of an executor makes namespaces for Pods of other members, and writes inside of these alone.

use anyhow::{Context, Result, ensure};
use fleet_api::names::SYSTEM_NAMESPACE;
use fleet_api::{ResourceKind, kinds, labels};
use fleet_testbed::admission::wait_seen;
use fleet_testbed::apply::apply;
use fleet_testbed::cluster::Cluster;
use fleet_testbed::policies;
use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::Tests;
use crate::ways::{
    REMOVING, WAYS, Way, change, create, create_by_apply, delete, passed, refused, refused_by_all,
};
use crate::world::{EAST, TEAM, World};

const PAGE: &str = include_str!("../../../docs/security.md");
const ENFORCE: &str = "pod-security.kubernetes.io/enforce";
const VERSION: &str = "pod-security.kubernetes.io/enforce-version";
/// The Secret in which the agent renews its token, as the chart calls it.
const TOKEN: &str = "hub-kubeconfig-secret";

pub(crate) fn add(tests: &mut Tests) {
    tests.add("A9::a_namespace_enforces_a_standard", a_namespace_enforces_a_standard);
    tests.add("A9::the_agent_alone_marks_namespaces", the_agent_alone_marks_namespaces);
    tests.add("A9::of_other_secrets_only_the_token", of_other_secrets_only_the_token);
    tests.add("A9::the_page_has_each_message", the_page_has_each_message);
    tests.add("A9::all_are_well_typed", all_are_well_typed);
}

/// The policies of the chart's values that concern executors alone.
async fn rendered() -> Result<Vec<Value>> {
    let on = json!({ "enabled": true });
    let values = json!({ "memberLease": on, "virtualNode": { "executor": on } });
    let mut objects = policies::render_member(&values).await?;
    let name = |object: &Value| object["metadata"]["name"].as_str().map(str::to_owned);
    objects.retain(|object| name(object).is_some_and(|name| name.starts_with("offload-")));
    Ok(objects)
}

/// Installs them, and waits until they are in force.
pub(crate) async fn install(member: &Cluster) -> Result<()> {
    for object in rendered().await? {
        apply(&member.client(), object).await?;
    }
    wait_seen(member).await
}

fn object(kind: ResourceKind, namespace: Option<&str>, name: &str) -> Value {
    let mut object = json!({
        "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": { "name": name },
    });
    if let Some(namespace) = namespace {
        object["metadata"]["namespace"] = json!(namespace);
    }
    object
}

/// A namespace for Pods of another member, with what it enforces.
fn space(name: &str, level: &str) -> Value {
    let mut space = object(kinds::NAMESPACE, None, name);
    space["metadata"]["labels"] =
        json!({ labels::OFFLOAD_ORIGIN: EAST, ENFORCE: level, VERSION: "latest" });
    space
}

/// Otherwise the agent could make Pods there that have all rights on a node.
async fn a_namespace_enforces_a_standard(world: &World) -> Result<()> {
    const KIND: ResourceKind = kinds::NAMESPACE;
    let (agent, admin) = (&world.own_agent, &world.own_admin);
    let mut bare = space("offload-a9-bare", "baseline");
    bare["metadata"]["labels"] = json!({ labels::OFFLOAD_ORIGIN: EAST });
    let mut old = space("offload-a9-old", "restricted");
    old["metadata"]["labels"][VERSION] = json!("v1.0");
    for (what, bad) in [
        ("privileged", &space("offload-a9-privileged", "privileged")),
        ("without a standard", &bare),
        ("an early version of it", &old),
        ("of another name", &space("a9-other", "restricted")),
    ] {
        refused(what, create(agent, KIND, bad).await?, "A9")?;
        refused(what, create_by_apply(agent, KIND, bad).await?, "A9")?;
    }
    for level in ["restricted", "baseline"] {
        let own = space(&format!("offload-a9-{level}"), level);
        let own = passed(level, create(agent, KIND, &own).await?)?;
        let lowered = |it: &mut Value| it["metadata"]["labels"][ENFORCE] = json!("privileged");
        refused_by_all(("lowered", &WAYS), agent, KIND, &own, lowered, "A9").await?;
        let bared = |it: &mut Value| {
            it["metadata"]["labels"] = json!({ labels::OFFLOAD_ORIGIN: EAST });
        };
        refused_by_all(("bared", &REMOVING), agent, KIND, &own, bared, "A9").await?;
        let marked = |it: &mut Value| it["metadata"]["annotations"] = json!({ "a": "b" });
        passed("marked", change(agent, KIND, &own, Way::Apply, marked).await?)?;
        // What administrators have made of it is theirs, and it goes all the same.
        passed("lowered", change(admin, KIND, &own, Way::Put, lowered).await?)?;
        passed("deleted", delete(agent, KIND, &own).await?)?;
    }
    Ok(())
}

/// Who may create namespaces is its administrator, and would have the Secrets that the agent puts there.
async fn the_agent_alone_marks_namespaces(world: &World) -> Result<()> {
    const KIND: ResourceKind = kinds::NAMESPACE;
    let (agent, admin) = (&world.own_agent, &world.own_admin);
    let marked = space("offload-a9-marked", "restricted");
    refused("marked", create(admin, KIND, &marked).await?, "A9")?;
    refused("marked", create_by_apply(admin, KIND, &marked).await?, "A9")?;
    let theirs = object(KIND, None, "offload-a9-theirs");
    let theirs = passed("without the mark", create(admin, KIND, &theirs).await?)?;
    let mark = |it: &mut Value| it["metadata"]["labels"] = json!({ labels::OFFLOAD_ORIGIN: EAST });
    refused_by_all(("marked later", &WAYS), admin, KIND, &theirs, mark, "A9").await?;
    let spaces: Api<Namespace> = Api::all(admin.clone());
    let marked_so = json!({ "metadata": { "labels": { labels::OFFLOAD_ORIGIN: EAST } } });
    let status = Patch::Merge(&marked_so);
    let status = spaces.patch_status("offload-a9-theirs", &PatchParams::default(), &status).await;
    let error = status.err().context("it was marked beside its status")?.to_string();
    ensure!(error.contains("A9"), "{error}");
    passed("deleted", delete(admin, KIND, &theirs).await?)?;
    let own = passed("its own", create(agent, KIND, &marked).await?)?;
    let other = |it: &mut Value| it["metadata"]["labels"][labels::OFFLOAD_ORIGIN] = json!("north");
    refused_by_all(("for another member", &WAYS), admin, KIND, &own, other, "A9").await?;
    let unmarked = |it: &mut Value| it["metadata"]["labels"] = json!({ "a": "b" });
    passed("without it", change(admin, KIND, &own, Way::Put, unmarked).await?)?;
    passed("deleted", delete(admin, KIND, &own).await?)
}

/// In the namespace of the release there may be Secrets of others.
async fn of_other_secrets_only_the_token(world: &World) -> Result<()> {
    const KIND: ResourceKind = kinds::SECRET;
    let (agent, admin) = (&world.own_agent, &world.own_admin);
    let filled = |it: &mut Value| it["data"] = json!({ "token": "YQ==" });
    for (namespace, name) in [(SYSTEM_NAMESPACE, "a9-other"), (TEAM, TOKEN)] {
        let mut theirs = object(KIND, Some(namespace), name);
        theirs["data"] = json!({ "a": "YQ==" });
        refused(name, create(agent, KIND, &theirs).await?, "A9")?;
        refused(name, create_by_apply(agent, KIND, &theirs).await?, "A9")?;
        let theirs = passed(name, create(admin, KIND, &theirs).await?)?;
        refused_by_all((name, &WAYS), agent, KIND, &theirs, filled, "A9").await?;
        refused(name, delete(agent, KIND, &theirs).await?, "A9")?;
        passed(name, delete(admin, KIND, &theirs).await?)?;
    }
    let token = object(KIND, Some(SYSTEM_NAMESPACE), TOKEN);
    refused("made", create(agent, KIND, &token).await?, "A9")?;
    let token = passed("by an admin", create(admin, KIND, &token).await?)?;
    passed("renewed", change(agent, KIND, &token, Way::Put, filled).await?)?;
    refused("deleted", delete(agent, KIND, &token).await?, "A9")?;
    passed("by an admin", delete(admin, KIND, &token).await?)?;

    let space = space("offload-a9", "baseline");
    let space = passed("its own", create(agent, kinds::NAMESPACE, &space).await?)?;
    let copy = object(KIND, Some("offload-a9"), "copy");
    passed("a copy", create(agent, KIND, &copy).await?)?;
    passed("deleted", delete(agent, kinds::NAMESPACE, &space).await?)
}

async fn the_page_has_each_message(_: &World) -> Result<()> {
    let row = PAGE.lines().find(|line| line.starts_with("| A9 |"));
    let row = row.context("docs/security.md has no row for A9")?;
    let objects = rendered().await?;
    let validations = objects.iter().filter_map(|object| object["spec"]["validations"].as_array());
    for validation in validations.flatten() {
        let message = validation["message"].as_str().context("a message")?;
        let text = message.strip_prefix("A9: ").context("a message of A9")?;
        ensure!(row.contains(text), "the row of A9 does not have: {text}");
    }
    Ok(())
}

async fn all_are_well_typed(world: &World) -> Result<()> {
    let api: Api<ValidatingAdmissionPolicy> = Api::all(world.own_admin.clone());
    for object in rendered().await? {
        if object["kind"] == "ValidatingAdmissionPolicy" {
            crate::documents::is_well_typed(&api, &world.own_admin, &object).await?;
        }
    }
    Ok(())
}
