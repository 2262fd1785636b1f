//! Reads what there is of a Pod.

use anyhow::Result;
use fleet_api::names::{member_namespace, member_of_namespace};
use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_virtual_node::names;
use kube::Client;
use kube::api::DynamicObject;

use super::explain::PodEvidence;
use crate::access::Contexts;
use crate::args::Cli;
use crate::objects::{find, list_all};
use crate::output::report;

pub(super) async fn evidence(
    cli: &Cli,
    pod: &ObjectName,
    origin: Option<&str>,
) -> Result<PodEvidence> {
    let contexts = cli.access.contexts()?;
    let hub = contexts.connect(&contexts.hub).await?.write;
    let candidates = match origin {
        Some(origin) => vec![origin.to_owned()],
        None => members(&contexts, &hub).await?,
    };
    let mut evidence = PodEvidence { name: pod.to_string(), ..PodEvidence::default() };
    for member in candidates {
        let Some(context) = contexts.of_member(&member) else { continue };
        let found = match contexts.connect(context).await {
            Ok(set) => find(&set.write, kinds::POD, Some(&pod.namespace), &pod.name).await,
            Err(error) => Err(error),
        };
        match found {
            Ok(Some(found)) => {
                // One that runs elsewhere comes before one of the same name that does not.
                let is_virtual = executor(&found).is_some();
                if evidence.pod.is_none() || is_virtual {
                    (evidence.origin, evidence.pod) = (Some(member), Some(found));
                }
                if is_virtual {
                    break;
                }
            }
            Ok(None) => {}
            Err(error) => report(&format!("{member} is not read: {error:#}")),
        }
    }
    complete(&hub, evidence).await
}

async fn complete(hub: &Client, mut evidence: PodEvidence) -> Result<PodEvidence> {
    let (Some(origin), Some(pod)) = (&evidence.origin, &evidence.pod) else { return Ok(evidence) };
    let Some(executor) = executor(pod) else { return Ok(evidence) };
    let own = member_namespace(origin);
    let uid = pod.metadata.uid.clone().unwrap_or_default();
    evidence.node = get(hub, kinds::VIRTUAL_NODE, &own, &executor).await?;
    // A node of the cluster's own may have such a name.
    let is_virtual = evidence.node.is_some() || is_marked(pod);
    evidence.export = get(hub, kinds::POD_EXPORT, &own, &uid).await?;
    let import = names::import(origin, &uid);
    evidence.import = get(hub, kinds::POD_IMPORT, &member_namespace(&executor), &import).await?;
    evidence.executor = (is_virtual || evidence.export.is_some()).then_some(executor);
    Ok(evidence)
}

async fn get(
    hub: &Client,
    kind: ResourceKind,
    namespace: &str,
    name: &str,
) -> Result<Option<DynamicObject>> {
    find(hub, kind, Some(namespace), name).await
}

fn executor(pod: &DynamicObject) -> Option<String> {
    let node = pod.data["spec"]["nodeName"].as_str()?;
    names::executor_of(node).map(str::to_owned)
}

/// Whether it tolerates virtual nodes.
fn is_marked(pod: &DynamicObject) -> bool {
    let tolerations = pod.data["spec"]["tolerations"].as_array();
    let mut tolerations = tolerations.into_iter().flatten();
    tolerations.any(|toleration| toleration["key"] == fleet_api::labels::VIRTUAL_NODE)
}

/// The members whose clusters can be asked.
async fn members(contexts: &Contexts, hub: &Client) -> Result<Vec<String>> {
    let named: Vec<_> = contexts.named().cloned().collect();
    if !named.is_empty() {
        return Ok(named);
    }
    let namespaces = list_all(hub, kinds::NAMESPACE).await?;
    let found = namespaces.iter().filter_map(|namespace| namespace.metadata.name.as_deref());
    Ok(found.filter_map(member_of_namespace).map(str::to_owned).collect())
}
