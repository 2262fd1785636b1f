//! Reads what checks look at: the hub, and the members that are named or that the hub knows.

mod base;
mod kinds;
mod on_hub;

use std::collections::BTreeSet;

use anyhow::Result;
use fleet_api::kinds::{
    CLUSTER_PROPERTY, CLUSTER_REPORT, CONFIG_MAP, INTERNAL_SERVICE_EXPORT, MCS_SERVICE_EXPORT,
    MCS_SERVICE_IMPORT, MEMBER_CLUSTER, NAMESPACE, RESOLVED_SERVICE, SERVICE, SERVICE_CIDR,
};
use fleet_api::names::{SYSTEM_NAMESPACE, member_of_namespace};
use fleet_model::objects::MemberPolicy;
use futures::join;
use futures::stream::{self, StreamExt as _};
use kinds::{DAEMON_SET, DEFINITION};
use on_hub::HubOf;
use serde_json::Value;

use super::checks::definition;
use super::finding::{Read, Unread};
use super::project;
use super::reader::{Reader, SYSTEM};
use super::seen::{Cluster, Dns, Hub, Member, Seen, Served};
use crate::access::{Access, Contexts};
use crate::deployments::{DEPLOYMENT, MEMBER_AGENT};
use crate::offload::OffloadStatus;

/// How many members are read at once.
const AT_ONCE: usize = 16;
/// Label of the DNS server of a cluster.
const DNS: &str = "k8s-app=kube-dns";
/// Name of the `DaemonSet` of `NodeLocal DNSCache`, and of its ConfigMap.
const NODE_CACHE: &str = "node-local-dns";

/// The hub and its members; only those that `access` names, if it names any.
///
/// # Errors
/// If the kubeconfig or a context is missing. A cluster that cannot be read is a part of what was seen.
pub(super) async fn fleet(access: &Access) -> Result<Seen> {
    let contexts = access.contexts()?;
    let reader = reader(access, &contexts, &contexts.hub).await;
    let set = reader.as_ref().ok().map(|reader| reader.set.clone());
    let hub = match &reader {
        Ok(reader) => Ok(Box::pin(hub(reader, &contexts.hub)).await),
        Err(unread) => Err(unread.clone()),
    };
    let chosen: Vec<_> = contexts.named().cloned().collect();
    let known = || hub.as_ref().ok().and_then(|hub| hub.members.clone().ok()).unwrap_or_default();
    let names = if chosen.is_empty() { known() } else { chosen };
    let serves = |hub: &Hub| hub.kinds.as_ref().is_ok_and(|it| it.contains(RESOLVED_SERVICE.kind));
    let of = HubOf { set: set.as_ref(), serves_standard: hub.as_ref().is_ok_and(serves) };
    let members = stream::iter(names).map(|name| member(access, &contexts, of, name));
    Ok(Seen { members: members.buffered(AT_ONCE).collect().await, hub })
}

/// One member without the hub.
///
/// # Errors
/// If the kubeconfig or the context is missing.
pub(super) async fn alone(access: &Access, name: &str) -> Result<Seen> {
    let contexts = access.contexts()?;
    let no_hub = HubOf { set: None, serves_standard: false };
    let members = vec![member(access, &contexts, no_hub, name.to_owned()).await];
    Ok(Seen {
        hub: Err(Unread { reason: "the hub was not asked".to_owned(), advice: None }),
        members,
    })
}

async fn reader(access: &Access, contexts: &Contexts, context: &str) -> Read<Reader> {
    match contexts.connect(context).await {
        Ok(set) => Ok(Reader { set, patience: access.patience() }),
        Err(error) => Err(Unread::new(
            format!("the cluster cannot be read: {error:#}"),
            "check the context in your kubeconfig, and the network",
        )),
    }
}

async fn hub(reader: &Reader, context: &str) -> Hub {
    let slice_export = "endpointsliceexports.networking.fleet.azure.com";
    let group = format!("{}/{}", CLUSTER_REPORT.group, CLUSTER_REPORT.version);
    let (namespaces, uid, reports, resolved, kinds, definition, offload) = join!(
        reader.list(NAMESPACE, None, ""),
        uid(reader),
        reader.list(CLUSTER_REPORT, None, ""),
        reader.list(RESOLVED_SERVICE, Some(SYSTEM_NAMESPACE), ""),
        reader.kinds(&group),
        reader.get(DEFINITION, None, slice_export),
        offload(reader),
    );
    let (base, exports, registered, policies) = join!(
        base::of_hub(reader),
        reader.list_of(INTERNAL_SERVICE_EXPORT, None, "", |it| project::base::exported_namespace(
            &it
        )),
        reader.list(MEMBER_CLUSTER, None, ""),
        reader.named(CONFIG_MAP, MemberPolicy::NAME),
    );
    let namespaces = base::names(namespaces);
    let members = |names: BTreeSet<String>| {
        let members = names.iter().filter_map(|name| member_of_namespace(name));
        members.map(str::to_owned).collect()
    };
    let no_hub = || {
        let reason = format!("the cluster of context {context} serves no ClusterReports");
        Unread::new(reason, "name the hub with --hub-context; a hub of release 0.1 has none")
    };
    Hub {
        members: namespaces.clone().map(members),
        uid,
        reports: reports
            .and_then(|found| found.ok_or_else(no_hub))
            .map(|found| each(&found, project::report)),
        resolved: all(resolved).map(|found| each(&found, project::resolved)),
        kinds,
        has_endpoint_details: definition
            .map(|found| found.is_some_and(|it| project::has_endpoint_details(&it))),
        offload,
        executor_ranges: policies.map(|found| each(&found, project::executor_ranges)),
        context: context.to_owned(),
        base,
        namespaces,
        exported: exports.map(|found| project::base::counted(found.unwrap_or_default())),
        registered: base::names(registered),
    }
}

async fn offload(reader: &Reader) -> Read<OffloadStatus> {
    let found =
        tokio::time::timeout(reader.patience, crate::offload::read(&reader.set.watch)).await;
    let unread = |reason: String| Unread::new(reason, "ask for the right to list them on the hub");
    match found {
        Ok(found) => found.map_err(|error| unread(format!("{error:#}"))),
        Err(_) => Err(unread("offers and virtual nodes were not read in time".to_owned())),
    }
}

/// The objects; none of a kind that is not served.
fn all(listed: Read<Option<Vec<Value>>>) -> Read<Vec<Value>> {
    listed.map(Option::unwrap_or_default)
}

fn each<T>(objects: &[Value], project: fn(&Value) -> Option<T>) -> Vec<T> {
    objects.iter().filter_map(project).collect()
}

async fn uid(reader: &Reader) -> Read<String> {
    let found = reader.get(NAMESPACE, None, SYSTEM).await?;
    let missing = || Unread { reason: format!("there is no namespace {SYSTEM}"), advice: None };
    found.as_ref().map(project::uid).ok_or_else(missing)
}

async fn member(access: &Access, contexts: &Contexts, hub: HubOf<'_>, name: String) -> Member {
    let own = match contexts.of_member(&name) {
        Some(context) => match reader(access, contexts, context).await {
            Ok(reader) => Ok(Box::pin(cluster(&reader, context, hub, &name)).await),
            Err(unread) => Err(unread),
        },
        None => Err(Unread::new(
            "your kubeconfig has no context of that name",
            format!("use --member {name}=CONTEXT"),
        )),
    };
    Member { name, own }
}

async fn cluster(reader: &Reader, context: &str, hub: HubOf<'_>, name: &str) -> Cluster {
    let object = |kind, name| reader.get(kind, Some(SYSTEM), name);
    let (uid, deployments, served, groups, definitions, dns) = join!(
        uid(reader),
        reader.list(DEPLOYMENT, None, MEMBER_AGENT),
        served(reader),
        reader.groups(),
        definitions(reader),
        dns(reader),
    );
    let (node_cache, kubeadm, cilium, imports, properties) = join!(
        node_cache(reader),
        object(CONFIG_MAP, "kubeadm-config"),
        object(CONFIG_MAP, "cilium-config"),
        reader.list(MCS_SERVICE_IMPORT, None, ""),
        reader.list(CLUSTER_PROPERTY, None, ""),
    );
    let (namespaces, ranges, services) = join!(
        reader.list(NAMESPACE, None, ""),
        reader.list(SERVICE_CIDR, None, ""),
        reader.list_of(SERVICE, None, "", |it| project::addresses(&it)),
    );
    let agent = match &deployments {
        Ok(found) => project::agent(found.as_deref().unwrap_or_default()),
        Err(unread) => Err(unread.clone()),
    };
    let (base, proxy, pod_ranges, token, on_hub) = join!(
        base::of_member(reader, &deployments, &agent),
        base::proxy(reader),
        base::pod_ranges(reader),
        base::token(hub.set, name, reader),
        on_hub::rights(hub, reader.patience, name, &agent),
    );
    let (corefile, dns_lacks) = match &dns {
        Ok(Some(dns)) => join!(corefile(reader, &dns.config_map), reader.lacks(&dns.account)),
        Ok(None) => (Ok(None), Ok(Vec::new())),
        Err(unread) => (Err(unread.clone()), Err(unread.clone())),
    };
    let no_ranges = || {
        let reason = "the cluster serves no ServiceCIDRs, as before Kubernetes 1.33";
        Unread { reason: reason.to_owned(), advice: None }
    };
    let flat = |found: Vec<Value>| found.iter().flat_map(project::ranges).collect();
    Cluster {
        context: context.to_owned(),
        uid,
        agent,
        served,
        groups,
        definitions,
        dns,
        corefile,
        dns_lacks,
        node_cache,
        is_kubeadm: kubeadm.map(|found| found.is_some()),
        has_cilium: cilium.map(|found| found.is_some_and(|it| project::serves_standard(&it))),
        imports: all(imports).map(|found| found.iter().map(project::import).collect()),
        properties: all(properties).map(|found| found.iter().map(project::property).collect()),
        namespaces: all(namespaces).map(|found| project::names(&found)),
        ranges: ranges.and_then(|found| found.ok_or_else(no_ranges)).map(flat),
        addresses: services.map(Option::unwrap_or_default),
        base,
        on_hub,
        proxy,
        pod_ranges,
        token,
    }
}

async fn served(reader: &Reader) -> Read<Served> {
    let (group, about) = (MCS_SERVICE_IMPORT.group, CLUSTER_PROPERTY.api_version());
    let (old, new) = (format!("{group}/v1alpha1"), format!("{group}/v1beta1"));
    let (old, new, about) = join!(reader.kinds(&old), reader.kinds(&new), reader.kinds(&about));
    Ok(Served { v1alpha1: old?, v1beta1: new?, about: about? })
}

async fn definitions(reader: &Reader) -> Read<Vec<super::seen::Definition>> {
    let mut found = Vec::new();
    for kind in [MCS_SERVICE_EXPORT, MCS_SERVICE_IMPORT] {
        let name = format!("{}.{}", kind.plural, kind.group);
        found.extend(reader.get(DEFINITION, None, &name).await?.as_ref().map(definition));
    }
    Ok(found)
}

async fn dns(reader: &Reader) -> Read<Option<Dns>> {
    let found = all(reader.list(DEPLOYMENT, Some(SYSTEM), DNS).await)?;
    Ok(project::dns(&found))
}

async fn corefile(reader: &Reader, config_map: &str) -> Read<Option<String>> {
    let found = reader.get(CONFIG_MAP, Some(SYSTEM), config_map).await?;
    Ok(found.as_ref().and_then(project::corefile))
}

/// A cache without a Corefile has an empty one.
async fn node_cache(reader: &Reader) -> Read<Option<String>> {
    if reader.get(DAEMON_SET, Some(SYSTEM), NODE_CACHE).await?.is_none() {
        return Ok(None);
    }
    Ok(Some(corefile(reader, NODE_CACHE).await?.unwrap_or_default()))
}
