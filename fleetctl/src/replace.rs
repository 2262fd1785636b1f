//! `fleetctl join --replace`: gives the name of a member to another cluster.

use anyhow::{Context as _, Result, bail};
use fleet_accumulator::one_line;
use fleet_api::{kinds, names};
use kube::Client;
use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};

use crate::access::Contexts;
use crate::args::JoinArgs;
use crate::objects::{api, delete, find, is_served};
use crate::output::report;
use crate::shell::kubectl;

/// The namespace whose uid stands for its cluster.
const OF_CLUSTER: &str = "kube-system";
/// An agent may record its cluster between two requests of this program.
const ATTEMPTS: usize = 5;

/// Records the cluster of the member's context, or no cluster if there is no such context.
pub(crate) async fn run(contexts: &Contexts, hub: &Client, args: &JoinArgs) -> Result<()> {
    let name = args.name.as_str();
    if !is_served(hub, kinds::CLUSTER_REPORT).await? {
        bail!(
            "the hub does not serve {}: upgrade the hub-agent chart first",
            kinds::CLUSTER_REPORT.plural
        );
    }
    let own = match contexts.of_member(name) {
        Some(context) => Some(uid(&contexts.connect(context).await?.write).await?),
        None => None,
    };
    let recorded = recorded(hub, name).await?;
    match (&recorded, &own) {
        (None, None) => report(&format!("No cluster is recorded as {name}")),
        (Some(recorded), Some(own)) if recorded == own => {
            report(&format!("Unchanged: the cluster {own} is recorded as {name}"));
        }
        _ if args.dry_run => report(&format!(
            "Would replace the cluster {} by {} as {name}",
            recorded.as_deref().unwrap_or("none"),
            own.as_deref().unwrap_or("the first that connects")
        )),
        (_, None) => {
            remove(contexts, hub, name).await?;
            report(&format!(
                "Deleted the record of {name}: the first cluster whose agent connects is recorded. To name it, use --member \
                 {name}=CONTEXT"
            ));
        }
        (_, Some(own)) => {
            put(contexts, hub, name, own).await?;
            report(&format!("Recorded the cluster {own} as {name}"));
        }
    }
    Ok(())
}

/// Replaces the record, also if an agent makes another one meanwhile.
async fn put(contexts: &Contexts, hub: &Client, name: &str, own: &str) -> Result<()> {
    let namespace = names::member_namespace(name);
    let kind = kinds::CLUSTER_REPORT;
    let object: DynamicObject = serde_json::from_value(object(name, own))?;
    for _ in 0..ATTEMPTS {
        remove(contexts, hub, name).await?;
        let reports = api(hub.clone(), kind, Some(&namespace));
        match reports.create(&PostParams::default(), &object).await {
            Ok(_) => return Ok(()),
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {}
            Err(error) => bail!("create {} {name}: {}", kind.kind, one_line(&error)),
        }
        if recorded(hub, name).await?.is_some_and(|found| found == own) {
            return Ok(());
        }
    }
    bail!("another cluster records itself as {name} again and again: stop its member agent first")
}

async fn remove(contexts: &Contexts, hub: &Client, name: &str) -> Result<()> {
    let (kind, namespace) = (kinds::CLUSTER_REPORT, names::member_namespace(name));
    delete(hub, kind, Some(&namespace), name).await?;
    let left = find(hub, kind, Some(&namespace), name).await?;
    match left.as_ref().and_then(held_by) {
        Some(finalizers) => bail!("{}", blocked(&contexts.hub, name, &finalizers)),
        None => Ok(()),
    }
}

/// The finalizers that a record waits for which is being deleted.
fn held_by(report: &DynamicObject) -> Option<String> {
    let metadata = &report.metadata;
    let finalizers = metadata.finalizers.as_deref().filter(|finalizers| !finalizers.is_empty())?;
    metadata.deletion_timestamp.is_some().then(|| finalizers.join(", "))
}

/// What an administrator reads about a record that does not go.
fn blocked(hub: &str, name: &str, finalizers: &str) -> String {
    let kind = kinds::CLUSTER_REPORT;
    format!(
        "the record of {name} is deleted, and stays for its finalizers, which no agent sets: {finalizers}. Remove them, then run this \
         again: {} -n {} patch {} {} --type=merge -p '{{\"metadata\":{{\"finalizers\":null}}}}'",
        kubectl(hub),
        names::member_namespace(name),
        kind.resource(),
        name
    )
}

fn object(name: &str, own: &str) -> Value {
    let kind = kinds::CLUSTER_REPORT;
    json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata": { "name": name, "namespace": names::member_namespace(name) },
        "spec": { "clusterUid": own },
    })
}

/// The uid that the hub has recorded.
async fn recorded(hub: &Client, name: &str) -> Result<Option<String>> {
    let namespace = names::member_namespace(name);
    let report = find(hub, kinds::CLUSTER_REPORT, Some(&namespace), name).await?;
    let uid = |report: DynamicObject| report.data["spec"]["clusterUid"].as_str().map(str::to_owned);
    Ok(report.and_then(uid))
}

/// The uid of a cluster.
async fn uid(own: &Client) -> Result<String> {
    let namespace = find(own, kinds::NAMESPACE, None, OF_CLUSTER).await?;
    let uid = namespace.and_then(|namespace| namespace.metadata.uid);
    uid.with_context(|| format!("the member's cluster has no namespace {OF_CLUSTER}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(more: &Value) -> DynamicObject {
        let mut record = object("east", "uid");
        for (key, value) in more.as_object().into_iter().flatten() {
            record["metadata"][key] = value.clone();
        }
        serde_json::from_value(record).unwrap()
    }

    /// A member can have put it there before the hub's policies forbade that.
    #[test]
    fn a_record_that_does_not_go_names_its_finalizers() {
        let ends = json!({ "deletionTimestamp": "2026-01-01T00:00:00Z" });
        let held = json!({ "finalizers": ["a.b/c", "d.e/f"] });
        let both = json!({ "deletionTimestamp": ends["deletionTimestamp"], "finalizers": held["finalizers"] });
        for gone in [&json!({}), &ends, &held, &json!({ "finalizers": [] })] {
            assert_eq!(held_by(&record(gone)), None, "{gone}");
        }
        let finalizers = held_by(&record(&both)).unwrap();
        let text = blocked("hub", "east", &finalizers);
        assert!(text.contains("which no agent sets: a.b/c, d.e/f. Remove them"), "{text}");
        let command = "kubectl --context hub -n fleet-member-east patch clusterreports east \
            --type=merge -p '{\"metadata\":{\"finalizers\":null}}'";
        assert!(text.ends_with(command), "{text}");
    }
}
