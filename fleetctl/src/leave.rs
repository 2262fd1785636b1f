//! `fleetctl leave`: a member cleans up, and its place on the hub goes.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use fleet_accumulator::{Accumulator, Config, SourceInfo, SourceSet, SourceSpec};
use fleet_api::{ResourceKind, finalizers, kinds, names};
use fleet_runtime::clients::one_line;
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
use crate::join::set_state;
use crate::member_objects::{MANAGED_BY, check_name, rights, title};
use crate::objects::{api, delete, find};
use crate::output::{NO, say};

/// Pause between two looks.
const LOOK: Duration = Duration::from_millis(200);
/// What a member has on the hub.
const KINDS: [ResourceKind; 4] = [
    kinds::INTERNAL_SERVICE_EXPORT,
    kinds::INTERNAL_SERVICE_IMPORT,
    kinds::ENDPOINT_SLICE_EXPORT,
    kinds::ENDPOINT_SLICE_IMPORT,
];

/// Leaves.
pub(crate) async fn run(cli: &Cli, args: &LeaveArgs) -> Result<ExitCode> {
    check_name(&args.name)?;
    let contexts = cli.access.contexts()?;
    let hub = contexts.connect(&contexts.hub).await?;
    let leaving = Leaving {
        name: &args.name,
        home: names::member_namespace(&args.name),
        client: &hub.write,
        deadline: Duration::from_secs(args.deadline),
    };
    if find(&hub.write, kinds::MEMBER_CLUSTER, None, &args.name).await?.is_some() {
        bail!("KubeFleet manages {0}: kubectl delete membercluster {0} makes it leave", args.name);
    }
    if find(&hub.write, kinds::NAMESPACE, None, &leaving.home).await?.is_none() {
        say(&format!("{} is not a member: the hub has no namespace {}", args.name, leaving.home));
        return Ok(ExitCode::SUCCESS);
    }
    if args.dry_run {
        return leaving.tell(args.force).await;
    }
    let left = if args.force { Ok(()) } else { leaving.wait_for_agent(hub.watch.clone()).await? };
    if let Err(reason) = left {
        say(&reason);
        return Ok(ExitCode::from(NO));
    }
    leaving.remove(args.force).await
}

struct Leaving<'a> {
    name: &'a str,
    home: String,
    client: &'a Client,
    deadline: Duration,
}

impl Leaving<'_> {
    async fn tell(&self, force: bool) -> Result<ExitCode> {
        if !force {
            say(&format!(
                "Would tell {} to leave, and wait until its agent reports that it has",
                self.name
            ));
        }
        for object in rights(self.name)?.iter().rev() {
            say(&format!("Would delete {}", title(object)));
        }
        let fate = if self.is_ours().await? {
            "Would delete"
        } else {
            "Would keep, since fleetctl did not make it,"
        };
        say(&format!("{fate} Namespace {}", self.home));
        say("Nothing was changed (--dry-run).");
        Ok(ExitCode::SUCCESS)
    }

    /// Whether the namespace was made by joining.
    async fn is_ours(&self) -> Result<bool> {
        let namespace = find(self.client, kinds::NAMESPACE, None, &self.home).await?;
        let labels = namespace.and_then(|namespace| namespace.metadata.labels).unwrap_or_default();
        let (label, ours) = MANAGED_BY;
        Ok(labels.get(label).is_some_and(|value| value == ours))
    }

    /// The inner error says why the member may not be removed yet.
    async fn wait_for_agent(&self, client: Client) -> Result<Result<(), String>> {
        let kind = kinds::INTERNAL_MEMBER_CLUSTER;
        let asked = find(self.client, kind, Some(&self.home), self.name).await?;
        if asked.is_none() {
            return self.check_empty().await;
        }
        set_state(self.client, self.name, "Leave").await?;
        say(&format!("Told {} to leave; waiting for its agent to clean up and say so", self.name));
        Ok(self.wait_until_left(client).await)
    }

    /// Without an InternalMemberCluster nobody can tell the agent to leave.
    async fn check_empty(&self) -> Result<Result<(), String>> {
        for kind in KINDS {
            if let Some(left) = self.list(kind).await?.first() {
                let name = left.metadata.name.as_deref().unwrap_or_default();
                return Ok(Err(format!(
                    "{} still takes part in the fleet ({} {name}), and no InternalMemberCluster can tell its agent to \
                     leave: delete the ServiceExports and MultiClusterServices there first, or remove it with --force",
                    self.name, kind.kind
                )));
            }
        }
        Ok(Ok(()))
    }

    async fn wait_until_left(&self, client: Client) -> Result<(), String> {
        let token = CancellationToken::new();
        let _end = token.clone().drop_guard();
        let source = MemberSnapshot::memberships();
        let spec = SourceSpec::new(client).namespace(self.home.as_str());
        let reports = Accumulator::<MemberSnapshot>::start(
            Config::default(),
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
            say(&format!("{} has left", self.name));
            return Ok(());
        }
        let snapshot = reports.snapshot();
        let heard = snapshot.memberships.iter().find_map(|membership| last_heartbeat(membership));
        let heard = heard.map_or_else(
            || "was never heard of".to_owned(),
            |at| format!("was heard of last at {at}"),
        );
        Err(format!(
            "{} has not left within {} s; its agent {heard}. If it runs, see what it logs and call leave again; if it is \
             gone for good: fleetctl leave {} --force",
            self.name,
            self.deadline.as_secs(),
            self.name
        ))
    }

    async fn remove(&self, force: bool) -> Result<ExitCode> {
        let kind = kinds::INTERNAL_MEMBER_CLUSTER;
        if delete(self.client, kind, Some(&self.home), self.name).await? {
            say(&format!("Deleted {} {}", kind.kind, self.name));
        }
        for object in rights(self.name)?.iter().rev() {
            self.delete_right(object).await?;
        }
        let ours = self.is_ours().await?;
        if ours {
            delete(self.client, kinds::NAMESPACE, None, &self.home).await?;
        } else {
            say(&format!("Kept namespace {}, which fleetctl did not make", self.home));
        }
        if force {
            self.empty().await?;
        }
        if !ours || self.wait_until_gone().await? {
            say(&format!("{} is no member any more", self.name));
            return Ok(ExitCode::SUCCESS);
        }
        say(&format!(
            "Namespace {} is still being deleted: see what is left in it, and whether the hub agent runs",
            self.home
        ));
        Ok(ExitCode::from(NO))
    }

    async fn delete_right(&self, object: &serde_json::Value) -> Result<()> {
        let known = [
            ("ServiceAccount", "", "serviceaccounts"),
            ("Role", "rbac.authorization.k8s.io", "roles"),
            ("RoleBinding", "rbac.authorization.k8s.io", "rolebindings"),
        ];
        let of = |field: &serde_json::Value| field.as_str().unwrap_or_default().to_owned();
        let found = known.iter().find(|(kind, ..)| object["kind"] == *kind);
        let (kind, group, plural) =
            *found.with_context(|| format!("{} is unknown here", title(object)))?;
        let kind = ResourceKind { group, version: "v1", kind, plural, namespaced: true };
        let name = of(&object["metadata"]["name"]);
        if delete(self.client, kind, Some(&self.home), &name).await? {
            say(&format!("Deleted {}", title(object)));
        }
        Ok(())
    }

    /// The hub agent lets go of all but the copies, which wait for the member's agent.
    async fn empty(&self) -> Result<()> {
        for kind in KINDS {
            for object in self.list(kind).await? {
                let name = object.metadata.name.unwrap_or_default();
                delete(self.client, kind, Some(&self.home), &name).await?;
            }
        }
        let kept = |copy: &DynamicObject| {
            let held = copy.metadata.finalizers.clone().unwrap_or_default();
            held.into_iter()
                .filter(|it| it != finalizers::ENDPOINT_SLICE_IMPORT)
                .collect::<Vec<_>>()
        };
        let kind = kinds::ENDPOINT_SLICE_IMPORT;
        let copies = api(self.client.clone(), kind, Some(&self.home));
        for copy in self.list(kind).await? {
            let name = copy.metadata.name.clone().unwrap_or_default();
            let version = &copy.metadata.resource_version;
            let patch =
                json!({ "metadata": { "finalizers": kept(&copy), "resourceVersion": version } });
            match copies.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await {
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => bail!("release {} {name}: {}", kind.kind, one_line(&error)),
                Ok(_) => say(&format!("Released {} {name}", kind.kind)),
            }
        }
        Ok(())
    }

    async fn list(&self, kind: ResourceKind) -> Result<Vec<DynamicObject>> {
        let objects = api(self.client.clone(), kind, Some(&self.home));
        match objects.list(&ListParams::default()).await {
            Ok(list) => Ok(list.items),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
            Err(error) => bail!("list {}: {}", kind.plural, one_line(&error)),
        }
    }

    async fn wait_until_gone(&self) -> Result<bool> {
        let gone = async {
            while find(self.client, kinds::NAMESPACE, None, &self.home).await?.is_some() {
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
