//! `fleetctl rebuild-hub`: prints what a new hub needs before its members come back, as a script to be read. Members have all of it
//! but for what administrators have decided on the hub, which is printed while the hub still answers.

mod script;

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use anyhow::{Result, bail};
use fleet_accumulator::one_line;
use fleet_api::names::member_of_namespace;
use fleet_api::traffic::DRAINS;
use fleet_api::{ResourceKind, annotations, kinds};
use kube::api::ListParams;
use kube::{Client, ResourceExt};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::access::Contexts;
use crate::args::{Cli, RebuildHubArgs};
use crate::leave_local::LEASE;
use crate::objects::{api, find};
use crate::output::print;
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
/// The member policy in the namespace of a member.
const POLICY: &str = "member-policy";

/// Runs the command.
pub(crate) async fn run(cli: &Cli, args: &RebuildHubArgs) -> Result<ExitCode> {
    let contexts = cli.access.contexts()?;
    let mut found = Found { hub: contexts.hub.clone(), ..Found::default() };
    match contexts.connect(&contexts.hub).await {
        Ok(hub) => read_hub(&hub.write, &mut found).await?,
        Err(error) => found.unread.push(format!("{error:#}")),
    }
    let names: BTreeSet<String> =
        contexts.named().cloned().chain(found.members.keys().cloned()).collect();
    if names.is_empty() {
        bail!("name the members, for example with --member east --member west");
    }
    for name in names {
        found.members.entry(name.clone()).or_default();
        if let Err(error) = read_member(&contexts, args, &name, &mut found).await {
            found.unread.push(format!("member {name}: {error:#}"));
        }
    }
    print(&script::of(&found))?;
    Ok(if found.unread.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(crate::output::NO) })
}

/// What the hub has that no member has.
async fn read_hub(hub: &Client, found: &mut Found) -> Result<()> {
    for namespace in list(hub, kinds::NAMESPACE).await? {
        let name = namespace.name_any();
        let Some(member) = member_of_namespace(&name) else { continue };
        let policy = find(hub, kinds::CONFIG_MAP, Some(&name), POLICY).await?;
        let policy = policy.map(|policy| {
            json!({
                "apiVersion": "v1", "kind": "ConfigMap", "data": policy.data["data"],
                "metadata": { "name": POLICY, "namespace": name },
            })
        });
        found.members.insert(member.to_owned(), policy);
    }
    for kind in DECIDED {
        let all = list(hub, kind).await?.into_iter();
        let decided =
            all.filter(|one| one.data["spec"].as_object().is_some_and(|it| !it.is_empty()));
        for object in decided {
            if kind.namespaced {
                found.namespaces.extend(object.namespace());
            }
            found.decided.push(manifest(
                kind,
                object.namespace(),
                &object.name_any(),
                &object.data["spec"],
            ));
        }
    }
    Ok(())
}

fn manifest(kind: ResourceKind, namespace: Option<String>, name: &str, spec: &Value) -> Value {
    let mut metadata = json!({ "name": name });
    if let Some(namespace) = namespace {
        metadata["namespace"] = json!(namespace);
    }
    let mut spec = spec.clone();
    if let Some(spec) = spec.as_object_mut() {
        // It names the hub that is gone.
        spec.remove("forgottenIn");
    }
    json!({ "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": metadata, "spec": spec })
}

/// What a member has: the namespaces of what crosses, and the drains that it applies.
async fn read_member(
    contexts: &Contexts,
    args: &RebuildHubArgs,
    name: &str,
    found: &mut Found,
) -> Result<()> {
    let Some(context) = contexts.of_member(name) else {
        bail!("the kubeconfig has no context for it")
    };
    let client = contexts.connect(context).await?.write;
    for kind in USERS {
        let ours = |object: &kube::api::DynamicObject| {
            kind != kinds::MCS_SERVICE_IMPORT
                || object.annotations().contains_key(annotations::MULTICLUSTER_HUB)
        };
        let objects = list(&client, kind).await?;
        found
            .namespaces
            .extend(objects.iter().filter(|it| ours(it)).filter_map(ResourceExt::namespace));
    }
    let lease = find(&client, kinds::LEASE, Some(&args.system_namespace), LEASE).await?;
    let noted = lease.and_then(|lease| lease.annotations().get(DRAINS).cloned());
    for (member, drains) in applied(noted.as_deref())? {
        found.drains.entry(member).or_default().extend(drains);
    }
    Ok(())
}

/// The part of what agents note about drains that matters.
#[derive(Deserialize)]
struct Noted {
    #[serde(default)]
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    service: String,
    percent: i64,
}

/// The Services of members that are drained here.
fn applied(noted: Option<&str>) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let Some(noted) = noted else { return Ok(BTreeMap::new()) };
    let noted: BTreeMap<String, Noted> = serde_json::from_str(noted)?;
    let drained = |noted: Noted| {
        let entries = noted.entries.into_iter().filter(|entry| entry.percent > 0);
        entries.map(|entry| entry.service).collect::<BTreeSet<_>>()
    };
    let all = noted.into_iter().map(|(member, noted)| (member, drained(noted)));
    Ok(all.filter(|(_, services)| !services.is_empty()).collect())
}

/// All objects of a kind; none if it is not served.
async fn list(client: &Client, kind: ResourceKind) -> Result<Vec<kube::api::DynamicObject>> {
    match api(client.clone(), kind, None).list(&ListParams::default()).await {
        Ok(list) => Ok(list.items),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(error) => bail!("list {}: {}", kind.plural, one_line(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drains_are_read_from_what_agents_note() {
        let noted = json!({
            "east": { "uid": "u", "serial": 3, "held": [], "entries": [
                { "service": "*", "percent": 100, "reason": "Drained" },
                { "service": "shop/web", "percent": 0, "reason": "Returned" },
            ] },
            "north": { "uid": "u", "serial": 3, "held": [], "entries": [] },
        });
        let found = applied(Some(&noted.to_string())).unwrap();
        assert_eq!(found, [("east".to_owned(), ["*".to_owned()].into())].into());
        assert!(applied(None).unwrap().is_empty() && applied(Some("{")).is_err());
    }

    #[test]
    fn what_names_the_old_hub_is_left_out() {
        let spec = json!({ "silence": "Never", "forgottenIn": "hub/0" });
        let manifest = manifest(kinds::MEMBER_TRAFFIC, None, "east", &spec);
        assert_eq!(manifest["spec"], json!({ "silence": "Never" }));
    }
}
