//! `fleetctl rebuild-hub`: prints what a new hub needs before its members come back, as a script to be read. Members have all of it
//! but for what administrators have decided on the hub, which is printed while the hub still answers.

mod drains;
mod joins;
mod member;
mod namespaces;
mod script;

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::{Result, bail};
use fleet_api::names::{is_dns1123_label, member_of_namespace};
use fleet_api::traffic::DRAINS;
use fleet_api::{ResourceKind, annotations, kinds};
use fleet_model::objects::MemberPolicy;
use kube::api::DynamicObject;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use crate::access::Contexts;
use crate::args::{Cli, RebuildHubArgs};
use crate::credential;
use crate::leave_local::LEASE;
use crate::member_objects::check_name;
use crate::objects::{find, list_all};
use crate::output::{NO, print, report};
use member::{Maker, Member};
use script::Found;

/// What users have in members whose Services cross.
const USERS: [ResourceKind; 4] = [
    kinds::SERVICE_EXPORT,
    kinds::MULTI_CLUSTER_SERVICE,
    kinds::MCS_SERVICE_EXPORT,
    kinds::MCS_SERVICE_IMPORT,
];
/// What administrators, and owners of Services, have decided on the hub. Members come before what is decided about them.
const DECIDED: [ResourceKind; 3] =
    [kinds::FLEET_TRAFFIC, kinds::MEMBER_TRAFFIC, kinds::SERVICE_TRAFFIC];

/// Runs the command.
pub(crate) async fn run(cli: &Cli, args: &RebuildHubArgs) -> Result<ExitCode> {
    let contexts = cli.access.contexts()?;
    let (hub, exported) = (contexts.hub.clone(), cli.access.exported()?);
    let mut found = Found { exported, hub, ..Found::default() };
    match contexts.connect(&contexts.hub).await {
        Ok(hub) => read_hub(&hub.write, &mut found).await,
        Err(error) => found.unread.push(format!("{error:#}")),
    }
    let names: BTreeSet<String> =
        contexts.named().cloned().chain(found.members.keys().cloned()).collect();
    if names.is_empty() {
        found.unread.iter().for_each(|unread| report(unread));
        bail!("name the members, for example with --member east --member west");
    }
    for name in names {
        found.members.entry(name.clone()).or_default();
        if let Err(error) = read_member(&contexts, args, &name, &mut found).await {
            found.unread.push(format!("member {name}: {error:#}"));
        }
    }
    print(&script::of(&found))?;
    Ok(if found.unread.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(NO) })
}

/// What the hub has that no member has: as much of it as can be read.
async fn read_hub(hub: &Client, found: &mut Found) {
    let namespaces = list_all(hub, kinds::NAMESPACE).await;
    for namespace in found.unless_unread(namespaces) {
        let name = namespace.name_any();
        let Some(member) = member_of_namespace(&name) else { continue };
        if let Err(error) = check_name(member) {
            found.unread.push(format!("the hub: namespace {name}: {error:#}"));
            continue;
        }
        let policy = find(hub, kinds::CONFIG_MAP, Some(&name), MemberPolicy::NAME).await;
        let policy =
            found.unless_unread(policy.map(|policy| policy.map(|it| policy_of(&name, &it))));
        let maker = Maker::of(namespace.labels());
        let known = Member { policy, maker, ..Member::default() };
        found.members.insert(member.to_owned(), known);
    }
    for kind in DECIDED {
        let all = list_all(hub, kind).await;
        for object in found.unless_unread(all) {
            let Some(manifest) = manifest(kind, &object) else { continue };
            found.namespaces.extend(object.namespace());
            found.decided.push(manifest);
        }
    }
}

fn policy_of(namespace: &str, policy: &DynamicObject) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": policy.data["data"],
        "metadata": { "name": MemberPolicy::NAME, "namespace": namespace },
    })
}

/// What is decided by an object, if anything is that counts on a new hub.
fn manifest(kind: ResourceKind, object: &DynamicObject) -> Option<Value> {
    let mut metadata = json!({ "name": object.name_any() });
    if let Some(namespace) = object.namespace() {
        metadata["namespace"] = json!(namespace);
    }
    let mut spec = object.data["spec"].as_object()?.clone();
    // It names the hub that is gone.
    spec.remove("forgottenIn");
    if has_lapsed(object) {
        spec.remove("silence");
    }
    let manifest = json!({
        "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": metadata, "spec": spec,
    });
    (!spec.is_empty()).then_some(manifest)
}

/// Whether it confirms a silence that has ended, which only the status has: on a new hub it would count again.
fn has_lapsed(object: &DynamicObject) -> bool {
    let [spec, status] = ["spec", "status"].map(|part| &object.data[part]["silence"]);
    *spec == "Confirmed" && status["lapsed"] == true
}

/// What a member has: where its agent has its token from, the namespaces of what crosses, and the drains that it applies.
async fn read_member(
    contexts: &Contexts,
    args: &RebuildHubArgs,
    name: &str,
    found: &mut Found,
) -> Result<()> {
    let Some(context) = contexts.of_member(name) else {
        bail!("the kubeconfig has no context for it")
    };
    found.members.entry(name.to_owned()).or_default().context = Some(context.to_owned());
    let client = contexts.connect(context).await?.write;
    match credential::place_of(&client).await {
        Ok(place) => found.members.entry(name.to_owned()).or_default().place = Some(place),
        Err(error) => found.unread.push(format!("member {name}: {error:#}")),
    }
    for kind in USERS {
        let objects = list_all(&client, kind).await?;
        let crossing = objects.iter().filter(|object| {
            kind != kinds::MCS_SERVICE_IMPORT
                || object.annotations().contains_key(annotations::MULTICLUSTER_HUB)
        });
        add_namespaces(crossing.filter_map(ResourceExt::namespace), name, found);
    }
    let lease = find(&client, kinds::LEASE, Some(&args.system_namespace), LEASE).await?;
    let Some(lease) = lease else { return Ok(()) };
    let Some(noted) = lease.annotations().get(DRAINS) else { return Ok(()) };
    if let Some(left_out) = found.drains.add(name, noted)? {
        found.unread.push(format!("member {name}: {left_out}"));
    }
    Ok(())
}

/// Adds namespaces of a member. What its API server answers may be an option to commands, or the namespace of a member on the hub.
fn add_namespaces(namespaces: impl Iterator<Item = String>, member: &str, found: &mut Found) {
    let is_of_users = |name: &String| is_dns1123_label(name) && member_of_namespace(name).is_none();
    let (of_users, others): (BTreeSet<_>, BTreeSet<_>) = namespaces.partition(is_of_users);
    found.namespaces.extend(of_users);
    if !others.is_empty() {
        let count = others.len();
        found.unread.push(format!("member {member}: {count} namespaces that users cannot have"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(data: &Value) -> DynamicObject {
        let mut object = json!({ "metadata": { "name": "east" } });
        object.as_object_mut().unwrap().extend(data.as_object().unwrap().clone());
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn what_names_the_old_hub_is_left_out() {
        let east = object(&json!({ "spec": { "silence": "Never", "forgottenIn": "hub/0" } }));
        let manifest = manifest(kinds::MEMBER_TRAFFIC, &east).unwrap();
        assert_eq!(manifest["spec"], json!({ "silence": "Never" }));
    }

    #[test]
    fn a_confirmation_that_has_lapsed_does_not_count_again() {
        let drains = json!([{ "service": "*", "percent": 100 }]);
        for (silence, lapsed, left) in [
            ("Confirmed", true, None),
            ("Confirmed", false, Some("Confirmed")),
            ("Never", true, Some("Never")),
        ] {
            let east = object(&json!({
                "spec": { "silence": silence, "drains": drains },
                "status": { "silence": { "lapsed": lapsed } },
            }));
            let spec = &manifest(kinds::MEMBER_TRAFFIC, &east).unwrap()["spec"];
            assert_eq!((spec["silence"].as_str(), &spec["drains"]), (left, &drains));
        }
        let status = json!({ "silence": { "lapsed": true } });
        let east = object(&json!({ "spec": { "silence": "Confirmed" }, "status": status }));
        assert_eq!(manifest(kinds::MEMBER_TRAFFIC, &east), None, "nothing is left of it");
    }

    /// A hub that answers may still not have what is asked of it.
    #[test]
    fn what_cannot_be_read_does_not_hide_the_rest() {
        let mut found = Found::default();
        let failed: Result<Vec<u8>> = Err(anyhow::anyhow!("list namespaces: forbidden"));
        assert!(found.unless_unread(failed).is_empty());
        assert_eq!(found.unless_unread(Ok(vec![1])), [1]);
        assert_eq!(found.unread, ["the hub: list namespaces: forbidden"]);
    }

    #[test]
    fn namespaces_of_a_member_are_those_of_users() {
        let mut found = Found::default();
        let names = ["shop", "--kubeconfig=x", "fleet-member-north", "", "--kubeconfig=x"];
        add_namespaces(names.into_iter().map(str::to_owned), "west", &mut found);
        assert_eq!(found.namespaces, ["shop".to_owned()].into());
        assert_eq!(found.unread, ["member west: 3 namespaces that users cannot have"]);
    }
}
