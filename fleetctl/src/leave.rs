//! `fleetctl leave`: waits until a member has cleaned up, and deletes its objects on the hub.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use fleet_accumulator::{
    Accumulator, Config, MassDeletionLimits, SourceInfo, SourceSet, SourceSpec, one_line,
};
use fleet_api::{ResourceKind, annotations, finalizers, kinds, names};
use hub_agent::heartbeat::last_heartbeat;
use kube::Client;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use member_agent::Identity;
use member_agent::phase::Phase;
use member_agent::snapshot::MemberSnapshot;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::args::{Cli, LeaveArgs};
use crate::manifests::delete_manifest;
use crate::member_objects::{MANAGED_BY, check_name, quota, rights, title};
use crate::objects::{api, delete, find};
use crate::output::{NO, report};
use crate::{approval, member_policy, parts, traffic};

/// Pause between two reads.
const LOOK: Duration = Duration::from_millis(200);
/// How often a write is tried whose object has changed meanwhile.
const ATTEMPTS: usize = 5;
/// Kinds of a member's objects on the hub.
const KINDS: [ResourceKind; 5] = [
    kinds::INTERNAL_SERVICE_EXPORT,
    kinds::INTERNAL_SERVICE_IMPORT,
    kinds::ENDPOINT_SLICE_EXPORT,
    kinds::ENDPOINT_SLICE_IMPORT,
    kinds::EXPORTED_SERVICE,
];

/// Leaves.
pub(crate) async fn run(cli: &Cli, args: &LeaveArgs) -> Result<ExitCode> {
    check_name(&args.name)?;
    let contexts = cli.access.contexts()?;
    let hub = contexts.connect(&contexts.hub).await?;
    let leaving = Leaving {
        name: &args.name,
        namespace: names::member_namespace(&args.name),
        client: &hub.write,
        deadline: Duration::from_secs(args.deadline),
        yes: args.yes,
    };
    if find(&hub.write, kinds::MEMBER_CLUSTER, None, &args.name).await?.is_some() {
        bail!(
            "KubeFleet manages {0}: to remove it, run kubectl delete membercluster {0}",
            args.name
        );
    }
    if find(&hub.write, kinds::NAMESPACE, None, &leaving.namespace).await?.is_none() {
        report(&format!(
            "{} is not a member: the hub has no namespace {}",
            args.name, leaving.namespace
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let Some(over) = args.drain else { return leaving.leave(args, hub.watch.clone()).await };
    if !args.dry_run
        && let Some(refusal) = leaving.refusal().await?
    {
        report(&refusal);
        return Ok(ExitCode::from(NO));
    }
    let left = leaving.drain_and_leave(cli, args, over, hub.watch.clone()).await;
    if !args.dry_run && !left.as_ref().is_ok_and(|code| *code == ExitCode::SUCCESS) {
        report(&still_drained(&args.name));
    }
    left
}

struct Leaving<'a> {
    name: &'a str,
    namespace: String,
    client: &'a Client,
    deadline: Duration,
    yes: bool,
}

impl Leaving<'_> {
    async fn drain_and_leave(
        &self,
        cli: &Cli,
        args: &LeaveArgs,
        over: Duration,
        watch: Client,
    ) -> Result<ExitCode> {
        let drained = traffic::drain_to_leave(cli, self.name, over, args.yes, args.dry_run).await?;
        if drained != ExitCode::SUCCESS {
            return Ok(drained);
        }
        let left = self.leave(args, watch).await?;
        if !args.dry_run && left == ExitCode::SUCCESS {
            // A drain outlives its member, unless nothing is decided about it any more.
            delete(self.client, kinds::MEMBER_TRAFFIC, None, self.name).await?;
        }
        Ok(left)
    }

    async fn leave(&self, args: &LeaveArgs, watch: Client) -> Result<ExitCode> {
        if args.dry_run {
            return self.preview(args.force).await;
        }
        let left = if args.force { Ok(()) } else { self.wait_for_agent(watch).await? };
        if let Err(reason) = left {
            report(&reason);
            return Ok(ExitCode::from(NO));
        }
        self.remove(args.force).await
    }

    /// What would be done, for `--dry-run`.
    async fn preview(&self, force: bool) -> Result<ExitCode> {
        if !force {
            report(&format!(
                "Would ask {} to leave, and wait until its agent reports that it has left",
                self.name
            ));
            report(&self.losses().await?.0);
        }
        let others = parts::granted(self.client, self.name).await?;
        for object in rights(self.name)?.iter().rev().chain(&others) {
            report(&format!("Would delete {}", title(object)));
        }
        let fate = if self.is_ours().await? {
            "Would delete"
        } else {
            "Would keep, since fleetctl did not create it,"
        };
        report(&format!("{fate} Namespace {}", self.namespace));
        report("Nothing was changed (--dry-run).");
        Ok(ExitCode::SUCCESS)
    }

    /// Whether `fleetctl join` created the namespace.
    async fn is_ours(&self) -> Result<bool> {
        let namespace = find(self.client, kinds::NAMESPACE, None, &self.namespace).await?;
        let labels = namespace.and_then(|namespace| namespace.metadata.labels).unwrap_or_default();
        let (label, ours) = MANAGED_BY;
        Ok(labels.get(label).is_some_and(|value| value == ours))
    }

    /// The inner error is the reason why the member cannot be removed yet.
    async fn wait_for_agent(&self, client: Client) -> Result<Result<(), String>> {
        if !self.has_agent().await? {
            return Ok(self.check_empty().await?.map_or(Ok(()), Err));
        }
        let (what, count) = self.losses().await?;
        if let Some(refusal) = unconfirmed(&what, count, self.yes) {
            return Ok(Err(refusal));
        }
        report(&what);
        self.ask_to_leave().await?;
        report(&format!("Asked {} to leave; waiting until its agent has cleaned up", self.name));
        Ok(self.wait_until_left(client).await)
    }

    /// What ends, and how many objects that are.
    async fn losses(&self) -> Result<(String, usize)> {
        let exports = self.list(kinds::INTERNAL_SERVICE_EXPORT).await?.len();
        let imports = self.list(kinds::INTERNAL_SERVICE_IMPORT).await?.len();
        let slices = self.list(kinds::ENDPOINT_SLICE_IMPORT).await?.len();
        let standard = self.list(kinds::EXPORTED_SERVICE).await?.len();
        let also = match standard {
            0 => String::new(),
            _ => format!(
                ". {standard} Services of multicluster.x-k8s.io are withdrawn, and users keep their objects"
            ),
        };
        let pods = self.pods().await?.map(|pods| format!(". {pods}")).unwrap_or_default();
        let what = format!(
            "{} exports {exports} Services and imports {imports} with {slices} EndpointSlices; its ServiceExports and \
             MultiClusterServices are deleted{also}{pods}",
            self.name
        );
        Ok((what, exports + imports + slices + standard))
    }

    /// What it does for other members, which it ends before it leaves, if anything.
    async fn pods(&self) -> Result<Option<String>> {
        let pods = self.list(kinds::POD_IMPORT).await?.len();
        Ok((pods > 0).then(|| {
            format!(
                "{} runs {pods} Pods of other members, and cannot leave before these are deleted there, or those members have left",
                self.name
            )
        }))
    }

    /// Why the member cannot leave as it is, before anything is changed.
    async fn refusal(&self) -> Result<Option<String>> {
        if !self.has_agent().await? {
            return self.check_empty().await;
        }
        let (what, count) = self.losses().await?;
        Ok(unconfirmed(&what, count, self.yes))
    }

    /// Whether there is an agent that can be asked to leave.
    async fn has_agent(&self) -> Result<bool> {
        let kind = kinds::INTERNAL_MEMBER_CLUSTER;
        Ok(find(self.client, kind, Some(&self.namespace), self.name).await?.is_some())
    }

    /// Asks the member to leave and confirms it, in one write: otherwise the agent would ask back in between. One of an earlier
    /// release ignores the confirmation.
    async fn ask_to_leave(&self) -> Result<()> {
        let kind = kinds::INTERNAL_MEMBER_CLUSTER;
        let memberships = api(self.client.clone(), kind, Some(&self.namespace));
        for _ in 0..ATTEMPTS {
            let Some(current) = find(self.client, kind, Some(&self.namespace), self.name).await?
            else {
                return Ok(()); // It has left already.
            };
            let patch = Patch::Merge(confirmed(&current));
            match memberships.patch(self.name, &PatchParams::default(), &patch).await {
                Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => {}
                Err(error) => bail!("ask {} to leave: {}", self.name, one_line(&error)),
                Ok(_) => return Ok(()),
            }
        }
        bail!("ask {} to leave: its InternalMemberCluster changes all the time", self.name)
    }

    /// Without an InternalMemberCluster, the agent cannot be asked to leave. Returns what it has left, if anything.
    async fn check_empty(&self) -> Result<Option<String>> {
        for kind in KINDS {
            if let Some(left) = self.list(kind).await?.first() {
                let name = left.metadata.name.as_deref().unwrap_or_default();
                return Ok(Some(format!(
                    "{} still takes part in the fleet ({} {name}), and without an InternalMemberCluster its agent cannot be \
                     asked to leave: delete its ServiceExports and MultiClusterServices first, or use --force",
                    self.name, kind.kind
                )));
            }
        }
        self.pods().await
    }

    async fn wait_until_left(&self, client: Client) -> Result<(), String> {
        let token = CancellationToken::new();
        let _end = token.clone().drop_guard();
        let source = MemberSnapshot::memberships();
        let spec = SourceSpec::new(client).namespace(self.namespace.as_str());
        let reports = Accumulator::<MemberSnapshot>::start(
            &Config::default(),
            SourceSet::from([source]),
            &|_: &SourceInfo| spec.clone(),
            &token,
            &TaskTracker::new(),
        );
        let identity = Identity::new(self.name);
        let mut cursor = reports.cursor(SourceSet::from([source]));
        let left = async {
            while let Some(step) = cursor.next().await {
                if Phase::of(&identity, &step.new) == Phase::Left {
                    return true;
                }
                cursor.commit(step);
            }
            false
        };
        if tokio::time::timeout(self.deadline, left).await == Ok(true) {
            report(&format!("{} has left", self.name));
            return Ok(());
        }
        let snapshot = reports.snapshot();
        let last = snapshot.memberships.iter().find_map(|membership| last_heartbeat(membership));
        let last = last.map_or_else(
            || "has never sent a heartbeat".to_owned(),
            |at| format!("sent its last heartbeat at {at}"),
        );
        let pods = self.pods().await.ok().flatten().map(|pods| format!("{pods}. "));
        Err(format!(
            "{} has not left within {} s; its agent {last}. {}If the agent runs, check its logs and run leave again; if the \
             cluster is gone for good: fleetctl leave {} --force",
            self.name,
            self.deadline.as_secs(),
            pods.unwrap_or_default(),
            self.name
        ))
    }

    async fn remove(&self, force: bool) -> Result<ExitCode> {
        let kind = kinds::INTERNAL_MEMBER_CLUSTER;
        if delete(self.client, kind, Some(&self.namespace), self.name).await? {
            report(&format!("Deleted {} {}", kind.kind, self.name));
        }
        for object in rights(self.name)?.iter().rev() {
            self.delete_object(object).await?;
        }
        self.delete_object(&quota(self.name)?).await?;
        parts::revoke(self.client, self.name).await?;
        approval::revoke(self.client, self.name).await?;
        // Another cluster may have the name from now on.
        delete(self.client, kinds::CLUSTER_REPORT, Some(&self.namespace), self.name).await?;
        let ours = self.is_ours().await?;
        if ours {
            delete(self.client, kinds::NAMESPACE, None, &self.namespace).await?;
        } else {
            report(&format!("Kept namespace {}, which fleetctl did not create", self.namespace));
            member_policy::remove(self.client, &self.namespace).await;
        }
        if force {
            self.empty().await?;
        }
        if !ours || self.wait_until_gone().await? {
            report(&format!("{} is no longer a member", self.name));
            return Ok(ExitCode::SUCCESS);
        }
        report(&format!(
            "Namespace {} is still being deleted: check which objects it still has, and whether the hub agent runs",
            self.namespace
        ));
        Ok(ExitCode::from(NO))
    }

    async fn delete_object(&self, object: &serde_json::Value) -> Result<()> {
        if delete_manifest(self.client, object).await? {
            report(&format!("Deleted {}", title(object)));
        }
        Ok(())
    }

    /// Deletes the member's objects. The hub agent removes the finalizers of all but the copies, which wait for the member agent.
    async fn empty(&self) -> Result<()> {
        for kind in KINDS {
            for object in self.list(kind).await? {
                let name = object.metadata.name.unwrap_or_default();
                delete(self.client, kind, Some(&self.namespace), &name).await?;
            }
        }
        let kind = kinds::ENDPOINT_SLICE_IMPORT;
        let copies = api(self.client.clone(), kind, Some(&self.namespace));
        for copy in self.list(kind).await? {
            let Some(patch) = release(&copy) else { continue };
            let name = copy.metadata.name.clone().unwrap_or_default();
            match copies.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await {
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => bail!("release {} {name}: {}", kind.kind, one_line(&error)),
                Ok(_) => report(&format!("Released {} {name}", kind.kind)),
            }
        }
        Ok(())
    }

    async fn list(&self, kind: ResourceKind) -> Result<Vec<DynamicObject>> {
        let objects = api(self.client.clone(), kind, Some(&self.namespace));
        match objects.list(&ListParams::default()).await {
            Ok(list) => Ok(list.items),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
            // Users who administer a fleet without the API of multicluster.x-k8s.io, or virtual nodes, may have no right to their kinds.
            Err(kube::Error::Api(status))
                if status.code == 403
                    && [kinds::EXPORTED_SERVICE, kinds::POD_IMPORT].contains(&kind) =>
            {
                Ok(Vec::new())
            }
            Err(error) => bail!("list {}: {}", kind.plural, one_line(&error)),
        }
    }

    async fn wait_until_gone(&self) -> Result<bool> {
        let gone = async {
            while find(self.client, kinds::NAMESPACE, None, &self.namespace).await?.is_some() {
                tokio::time::sleep(LOOK).await;
            }
            anyhow::Ok(())
        };
        match tokio::time::timeout(self.deadline, gone).await {
            Ok(result) => result.map(|()| true),
            Err(_) => Ok(false),
        }
    }
}

/// Asks for a confirmation, if much ends.
fn unconfirmed(what: &str, count: usize, is_confirmed: bool) -> Option<String> {
    let is_much = MassDeletionLimits::default().exceeded_by(count, count);
    (is_much && !is_confirmed).then(|| {
        format!("{what}. The member was not asked to leave; if that is what you want, add --yes")
    })
}

/// What to do about a drain whose member has not left. It may have failed before the first step.
fn still_drained(member: &str) -> String {
    format!(
        "What is drained of {member} stays drained: run the command again, or fleetctl undrain {member}"
    )
}

/// The patch that asks a member to leave, with the confirmation for the generation that it leads to.
fn confirmed(current: &DynamicObject) -> serde_json::Value {
    let asked = current.data["spec"]["state"] == "Leave";
    let generation = current.metadata.generation.unwrap_or_default() + i64::from(!asked);
    json!({
        "metadata": {
            "resourceVersion": current.metadata.resource_version,
            "annotations": { annotations::CONFIRM_LEAVE: generation.to_string() },
        },
        "spec": { "state": "Leave" },
    })
}

/// The patch that removes the member's finalizer from a copy that is being deleted; `None` if there is nothing to remove. One
/// that the hub agent has made meanwhile is not released: nothing deletes it.
fn release(copy: &DynamicObject) -> Option<serde_json::Value> {
    copy.metadata.deletion_timestamp.as_ref()?;
    let held = copy.metadata.finalizers.as_deref().unwrap_or_default();
    let (ours, others): (Vec<_>, Vec<_>) =
        held.iter().partition(|it| **it == finalizers::ENDPOINT_SLICE_IMPORT);
    let version = &copy.metadata.resource_version;
    let patch = json!({ "metadata": { "finalizers": others, "resourceVersion": version } });
    (!ours.is_empty()).then_some(patch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confirmation_is_for_the_generation_that_asks_to_leave() {
        for (state, generation) in [("Join", "8"), ("Leave", "7")] {
            let current = json!({
                "metadata": { "resourceVersion": "3", "generation": 7 }, "spec": { "state": state },
            });
            let patch = confirmed(&serde_json::from_value(current).unwrap());
            let metadata = json!({ "resourceVersion": "3",
                "annotations": { "networking.fleet.azure.com/confirm-leave": generation } });
            assert_eq!(patch, json!({ "metadata": metadata, "spec": { "state": "Leave" } }));
        }
    }

    #[test]
    fn much_is_confirmed_and_a_drain_that_stays_is_named() {
        let refusal = unconfirmed("east exports 21 Services", 21, false).unwrap();
        assert!(refusal.starts_with("east exports 21 Services. ") && refusal.contains("--yes"));
        assert_eq!(unconfirmed("east", 21, true), None);
        assert_eq!(unconfirmed("east", 1, false), None);
        assert!(still_drained("east").ends_with("fleetctl undrain east"));
    }

    #[test]
    fn only_copies_that_are_being_deleted_are_released() {
        let ours = finalizers::ENDPOINT_SLICE_IMPORT;
        for (deleted, held, left) in [
            (true, vec!["their/own", ours], Some(json!(["their/own"]))),
            (true, vec!["their/own"], None),
            (false, vec![ours], None),
        ] {
            let mut copy = json!({ "metadata": { "resourceVersion": "7", "finalizers": held } });
            if deleted {
                copy["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            }
            let patch = release(&serde_json::from_value(copy).unwrap());
            let metadata = |left| json!({ "finalizers": left, "resourceVersion": "7" });
            assert_eq!(patch, left.map(|left| json!({ "metadata": metadata(left) })));
        }
    }
}
