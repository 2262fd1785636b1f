//! `fleetctl leave --local`: cleans up a member whose hub is gone for good, with access to that member alone.
//!
//! The member agent releases what it holds only after the hub has confirmed that it is withdrawn. Without a hub, that never
//! happens, and users could not delete their ServiceExports and MultiClusterServices.

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use fleet_accumulator::one_line;
use fleet_api::multicluster::standard::CLUSTERSET_ID;
use fleet_api::{ResourceKind, annotations, finalizers, kinds, labels};
use fleet_runtime::clock::Clock;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::json;

use crate::access::Access;
use crate::args::{Cli, LeaveArgs};
use crate::deployments::{DEPLOYMENT, MEMBER_AGENT, RELEASE};
use crate::objects::{api, delete, find};
use crate::output::{NO, report};
use crate::shell::quoted;

/// The Lease that member agents hold.
pub(crate) const LEASE: &str = "member-agent.networking.fleet.azure.com";
/// The finalizers of member agents on users' objects.
const HELD: [(ResourceKind, &str); 2] = [
    (kinds::MULTI_CLUSTER_SERVICE, finalizers::MULTI_CLUSTER_SERVICE),
    (kinds::SERVICE_EXPORT, finalizers::SERVICE_EXPORT),
];

/// Cleans up.
pub(crate) async fn run(cli: &Cli, args: &LeaveArgs) -> Result<ExitCode> {
    let named = cli.access.members.iter().find(|(name, _)| *name == args.name);
    let context = named.map_or(&args.name, |(_, context)| context);
    // There is no hub, so none has to be in the kubeconfig.
    let access = Access { hub_context: Some(context.clone()), ..cli.access.clone() };
    let own = access.contexts()?.connect(context).await?.write;
    let namespace = args.system_namespace.as_str();
    if let Some(Running { what, release }) = running(&own, namespace).await? {
        let how = release.map_or_else(String::new, |(namespace, name)| {
            let [context, namespace, name] = [context, &namespace, &name].map(|it| quoted(it));
            format!(
                ", for example with helm uninstall {name} --kube-context {context} -n {namespace}"
            )
        });
        bail!(
            "a member agent runs in the cluster of context {context} ({what}): stop it first{how}"
        );
    }
    let work = work(&own, namespace).await?;
    if work.is_empty() {
        report(&format!("The cluster of context {context} has nothing of the fleet"));
        return Ok(ExitCode::SUCCESS);
    }
    if args.dry_run || !args.force {
        for one in &work {
            report(&format!("Would {one}"));
        }
        let how = if args.dry_run { "--dry-run" } else { "add --force to do it" };
        report(&format!("Nothing was changed ({how})."));
        return Ok(if args.dry_run { ExitCode::SUCCESS } else { ExitCode::from(NO) });
    }
    for one in &work {
        one.execute(&own).await?;
        report(&format!("Done: {one}"));
    }
    report(&format!(
        "The cluster of context {context} has left the fleet. Its ServiceExports and MultiClusterServices stay: delete them, or \
         join it to another hub"
    ));
    Ok(ExitCode::SUCCESS)
}

/// An agent that runs.
struct Running {
    /// What shows it.
    what: String,
    /// Namespace and name of the release of Helm that it is of, if that is known.
    release: Option<(String, String)>,
}

/// Which agent runs, if any.
async fn running(own: &Client, namespace: &str) -> Result<Option<Running>> {
    let of_chart = list(own, DEPLOYMENT, None, &ListParams::default().labels(MEMBER_AGENT)).await?;
    let with_pods = |one: &&DynamicObject| one.data["spec"]["replicas"].as_i64().unwrap_or(1) > 0;
    let deployment = of_chart.iter().find(with_pods);
    let release =
        deployment.and_then(|one| Some((one.namespace()?, one.labels().get(RELEASE)?.clone())));
    if let Some(lease) = find(own, kinds::LEASE, Some(namespace), LEASE).await? {
        let lease: Lease = serde_json::from_value(serde_json::to_value(lease)?)?;
        let spec = lease.spec.unwrap_or_default();
        if let Some(holder) = holder(&spec, Clock::system().now()) {
            let what = format!("{holder} holds the Lease {namespace}/{LEASE}");
            return Ok(Some(Running { what, release }));
        }
    }
    Ok(deployment.map(|one| {
        let namespace = one.namespace().unwrap_or_default();
        Running {
            what: format!("the Deployment {namespace}/{} has replicas", one.name_any()),
            release,
        }
    }))
}

/// Who holds a Lease that has not expired.
fn holder(spec: &LeaseSpec, now: Timestamp) -> Option<&str> {
    let holder = spec.holder_identity.as_deref().filter(|holder| !holder.is_empty())?;
    let renewed = spec.renew_time.as_ref()?.0;
    let duration = SignedDuration::from_secs(spec.lease_duration_seconds?.into());
    (now.duration_since(renewed) < duration).then_some(holder)
}

/// One change.
#[derive(Debug)]
struct Change {
    kind: ResourceKind,
    object: DynamicObject,
    /// The finalizer to remove.
    finalizer: Option<&'static str>,
    /// Whether the object is deleted, too.
    deletes: bool,
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = if self.deletes { "delete" } else { "remove the agent's finalizer from" };
        let (kind, name) = (self.kind.kind, self.object.name_any());
        // Both APIs have a ServiceImport.
        let group = if self.kind == kinds::MCS_SERVICE_IMPORT { self.kind.group } else { "" };
        let of_group = if group.is_empty() { String::new() } else { format!(".{group}") };
        match self.object.namespace() {
            Some(namespace) => write!(f, "{what} {kind}{of_group} {namespace}/{name}"),
            None => write!(f, "{what} {kind} {name}"),
        }
    }
}

/// Everything to do: endpoints first, so that no derived Service has any when it is deleted; users' objects last, so that a
/// second run finds what the first one has not done.
async fn work(own: &Client, namespace: &str) -> Result<Vec<Change>> {
    let all = ListParams::default();
    let mut work = Vec::new();
    let of_agents =
        |kind| async move { list(own, kind, Some(namespace), &ListParams::default()).await };
    for (kind, made) in of_standard(own).await? {
        work.extend(made.into_iter().map(|object| deletion(kind, object, None)));
    }
    let slices = of_agents(kinds::ENDPOINT_SLICE).await?.into_iter().filter(is_imported);
    work.extend(slices.map(|object| deletion(kinds::ENDPOINT_SLICE, object, None)));
    let services = of_agents(kinds::SERVICE).await?.into_iter().filter(is_derived);
    work.extend(services.map(|object| deletion(kinds::SERVICE, object, None)));
    let imports = list(own, kinds::SERVICE_IMPORT, None, &all).await?.into_iter();
    let imports = imports.filter(has_controller);
    work.extend(
        imports.map(|object| {
            deletion(kinds::SERVICE_IMPORT, object, Some(finalizers::SERVICE_IMPORT))
        }),
    );
    for (kind, finalizer) in HELD {
        let held = list(own, kind, None, &all).await?.into_iter();
        let held = held.filter(|object| object.finalizers().iter().any(|one| one == finalizer));
        work.extend(held.map(|object| Change {
            kind,
            object,
            finalizer: Some(finalizer),
            deletes: false,
        }));
    }
    Ok(work)
}

/// What the agent made for the standard API: ServiceImports, with which the derived Services and EndpointSlices go that they own, and
/// the name of the clusterset.
async fn of_standard(own: &Client) -> Result<[(ResourceKind, Vec<DynamicObject>); 2]> {
    let all = ListParams::default();
    let mut imports = list(own, kinds::MCS_SERVICE_IMPORT, None, &all).await?;
    imports.retain(is_marked);
    let mut properties = list(own, kinds::CLUSTER_PROPERTY, None, &all).await?;
    properties.retain(|property| property.name_any() == CLUSTERSET_ID && is_marked(property));
    Ok([(kinds::MCS_SERVICE_IMPORT, imports), (kinds::CLUSTER_PROPERTY, properties)])
}

/// Whether the agent made an object of the standard API, and no other implementation.
fn is_marked(object: &DynamicObject) -> bool {
    object.annotations().contains_key(annotations::MULTICLUSTER_HUB)
}

fn deletion(kind: ResourceKind, object: DynamicObject, finalizer: Option<&'static str>) -> Change {
    Change { kind, object, finalizer, deletes: true }
}

/// Whether a member agent, this one or the Go one, has imported an EndpointSlice.
fn is_imported(slice: &DynamicObject) -> bool {
    slice.labels().get(labels::MANAGED_BY).is_some_and(|by| by == labels::MANAGED_BY_IMPORT)
        || slice.annotations().contains_key(annotations::FLEET_SERVICE)
}

/// Whether a Service is derived from a MultiClusterService.
fn is_derived(service: &DynamicObject) -> bool {
    service.annotations().contains_key(annotations::MULTI_CLUSTER_SERVICE_UID)
}

/// Whether a ServiceImport is that of a MultiClusterService. Those of a hub, which this cluster may be, have no owner.
fn has_controller(import: &DynamicObject) -> bool {
    import.owner_references().iter().any(|owner| owner.controller == Some(true))
}

impl Change {
    async fn execute(&self, own: &Client) -> Result<()> {
        let Self { kind, object, finalizer, deletes } = self;
        let (namespace, name) = (object.namespace(), object.name_any());
        if let Some(finalizer) = finalizer {
            release(own, *kind, object, finalizer).await?;
        }
        if *deletes {
            delete(own, *kind, namespace.as_deref(), &name).await?;
        }
        Ok(())
    }
}

/// Removes a finalizer from the version of an object that was listed.
async fn release(
    own: &Client,
    kind: ResourceKind,
    object: &DynamicObject,
    finalizer: &str,
) -> Result<()> {
    let (namespace, name) = (object.namespace(), object.name_any());
    let left: Vec<_> = object.finalizers().iter().filter(|one| *one != finalizer).collect();
    if left.len() == object.finalizers().len() {
        return Ok(());
    }
    let patch = json!({ "metadata": {
        "finalizers": left, "resourceVersion": object.resource_version(),
    } });
    let objects = api(own.clone(), kind, namespace.as_deref());
    match objects.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 409 => {
            bail!("{} {name} has changed meanwhile: run the command again", kind.kind)
        }
        Err(error) => bail!("release {} {name}: {}", kind.kind, one_line(&error)),
    }
}

/// The objects of a kind; none if the cluster does not serve it.
async fn list(
    own: &Client,
    kind: ResourceKind,
    namespace: Option<&str>,
    params: &ListParams,
) -> Result<Vec<DynamicObject>> {
    match api(own.clone(), kind, namespace).list(params).await {
        Ok(list) => Ok(list.items),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(error) => {
            Err(anyhow::anyhow!(one_line(&error))).with_context(|| format!("list {}", kind.plural))
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

    use super::*;

    fn object(metadata: &serde_json::Value) -> DynamicObject {
        serde_json::from_value(json!({ "metadata": metadata })).unwrap()
    }

    #[test]
    fn only_what_the_agent_made_for_the_standard_api_is_deleted() {
        let ours = json!({ annotations::MULTICLUSTER_HUB: "hub-uid/0" });
        assert!(is_marked(&object(&json!({ "name": "web", "annotations": ours }))));
        assert!(!is_marked(&object(&json!({ "name": "web" }))));
    }

    #[test]
    fn what_is_deleted_is_named_with_its_api() {
        let web = || object(&json!({ "name": "web", "namespace": "shop" }));
        let said = |kind, object| deletion(kind, object, None).to_string();
        let of_fleet = said(kinds::SERVICE_IMPORT, web());
        assert_eq!(of_fleet, "delete ServiceImport shop/web");
        let standard = said(kinds::MCS_SERVICE_IMPORT, web());
        assert_eq!(standard, "delete ServiceImport.multicluster.x-k8s.io shop/web");
        let property = said(kinds::CLUSTER_PROPERTY, object(&json!({ "name": CLUSTERSET_ID })));
        assert_eq!(property, "delete ClusterProperty clusterset.k8s.io");
    }

    #[test]
    fn a_lease_is_held_until_it_expires() {
        let renewed: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let spec = |holder: &str| LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            lease_duration_seconds: Some(15),
            renew_time: Some(MicroTime(renewed)),
            ..LeaseSpec::default()
        };
        let after = |seconds| renewed + SignedDuration::from_secs(seconds);
        assert_eq!(holder(&spec("pod"), after(14)), Some("pod"));
        assert_eq!(holder(&spec("pod"), after(15)), None);
        assert_eq!(holder(&spec(""), after(1)), None, "it was released");
        assert_eq!(holder(&LeaseSpec::default(), after(1)), None);
    }
}
