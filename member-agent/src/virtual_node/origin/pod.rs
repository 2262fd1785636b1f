//! What is still to be done about one Pod.

use std::collections::BTreeMap;
use std::time::Duration;

use fleet_accumulator::{ClusterId, Object, Uid};
use fleet_api::ObjectName;
use fleet_api::offload::{ConfigCopy, ConfigKind, PodExportSpec};
use fleet_model::objects::offload::{PodDocument, PodExport, PodIndex};
use fleet_model::steps::at;
use fleet_plan::{Action, Step};
use fleet_virtual_node::life::{
    self, ExportState, Fuse, Leftover, NodeState, Observed, Views, decide, leftover, state,
};
use fleet_virtual_node::names;
use fleet_virtual_node::pod::{LocalPod, Rejection};
use fleet_virtual_node::provider::{HubProvider, Provider as _, ProviderError, Write};
use fleet_virtual_node::status::{DesiredStatus, Link};
use jiff::Timestamp;

use super::super::steps;
use super::events::{notice, progress};
use super::export_state::export_state;
use super::status::{StatusWrite, status_write};
use super::unread::{is_soon_read, unread, without_sending};
use crate::Settings;
use crate::executors::Executor;
use crate::hub_side::is_known;
use crate::left_over;
use crate::links::Links;
use crate::measurement::{Measurement, Plan};
use crate::snapshot::MemberSnapshot;
use crate::status_writes::StatusWrites;
use crate::views::{POD_EXPORTS, complete_for, is_about_to_be_known, pods_for};

/// Time after which it is known that a view is complete.
const SOON: Duration = Duration::from_secs(1);
/// When to look again at what is interrupted: that a view is followed again, or that the hub answers, is no change of an object
/// that a plan would be made for.
const AGAIN: Duration = Duration::from_secs(5);

/// The same for what is not expected to come soon.
const RARELY: Duration = Duration::from_mins(1);

/// One Pod and its export.
struct Subject<'a> {
    settings: &'a Settings,
    writes: &'a StatusWrites,
    uid: &'a Uid,
    object: Option<&'a Object<PodDocument>>,
    pod: Option<LocalPod>,
    export: Option<&'a Object<PodExport>>,
    state: Option<ExportState>,
    node: NodeState,
}

/// The writes that one Pod still misses.
pub(super) fn plan(
    settings: &Settings,
    (links, writes): (&Links, &StatusWrites),
    uid: &Uid,
    snapshot: &MemberSnapshot,
    now: Timestamp,
) -> Plan {
    let mut plan = Plan::default();
    let object = snapshot.virtual_pods.by(&PodIndex::Uid(uid.clone())).next();
    let name = ObjectName::new(settings.identity.hub_namespace.as_str(), uid.to_string());
    let export = snapshot.pod_exports.get(&name);
    let node = object.and_then(|pod| names::executor_of(pod.node()?));
    let stated = export.map(|export| export.object.spec.executor.as_str());
    let Some(executor) = stated.filter(|name| !name.is_empty()).or(node) else { return plan };
    let executor = Executor::of(&settings.identity, executor, snapshot);
    let subject = Subject {
        settings,
        writes,
        uid,
        object,
        pod: object.map(|pod| LocalPod::read(&pod.object.document)),
        export,
        state: export.map(export_state),
        node: executor.state(settings, links),
    };
    let content = |kind, name: &str| match &subject.pod {
        Some(pod) => content(snapshot, &pod.namespace, kind, name),
        None => None,
    };
    let own = pods_for(&subject.node.executor);
    let identity = &settings.identity;
    let known = |view: &str| complete_for(view, links, identity, snapshot);
    for view in [&*own, POD_EXPORTS] {
        if is_about_to_be_known(view, known(view), identity, snapshot) {
            plan.wake_within(SOON);
        }
    }
    let views = Views {
        pods: known(&own),
        exports: known(POD_EXPORTS).filter(|_| is_known(&snapshot.pod_exports)),
    };
    let text = uid.to_string();
    let observed = Observed {
        uid: &text,
        pod: subject.pod.as_ref(),
        export: subject.state.as_ref(),
        node: &subject.node,
        views,
        config: &content,
    };
    if subject.node.link != Link::Alive || subject.depends_on(views) {
        plan.wake_within(AGAIN);
    }
    if is_left_over(&subject) && withholds(&subject.node.executor, snapshot, links, &mut plan) {
        return plan;
    }
    let unread = subject.pod.as_ref().and_then(|pod| {
        let reference = unread(pod, &subject.node, snapshot)?;
        Some((pod, reference))
    });
    if unread.is_some() {
        let is_soon = object.is_some_and(|pod| is_soon_read(identity, pod, snapshot, now));
        plan.wake_within(if is_soon { AGAIN } else { RARELY });
        if is_soon && export.is_none() {
            return plan;
        }
    }
    let mut decision = decide(&observed, now);
    if let Some((pod, reference)) = &unread {
        decision = without_sending(decision, pod, reference, now);
    }
    decision.again_after.into_iter().for_each(|after| plan.wake_within(after));
    for action in decision.actions {
        subject.act(action, decision.refused.as_ref(), &mut plan);
    }
    progress(subject.object, subject.state.as_ref(), &mut plan);
    plan.measure(Measurement::PodState {
        executor: subject.node.executor.clone(),
        state: state(subject.pod.as_ref(), subject.state.as_ref()),
    });
    plan
}

/// Whether there is an export of a Pod that does not exist.
fn is_left_over(subject: &Subject<'_>) -> bool {
    subject.object.is_none() && subject.state.as_ref().is_some_and(|export| !export.deleting)
}

/// Whether so much seems to be left over at once that the view is more probably wrong.
fn withholds(executor: &str, snapshot: &MemberSnapshot, links: &Links, plan: &mut Plan) -> bool {
    let pods = pods_for(executor);
    let (complete, confirmed) = (links.complete(&pods), links.is_confirmed(&pods));
    let left = left_over::of_origin(executor, snapshot);
    match leftover(left, complete, confirmed, Fuse::default()) {
        Leftover::Stop => plan.measure(Measurement::DanglingStop),
        Leftover::Keep(rest) => {
            plan.wake_within(rest);
            return true;
        }
        Leftover::Unknown => return true,
    }
    false
}

/// The present content of a config map or Secret.
fn content(
    snapshot: &MemberSnapshot,
    namespace: &str,
    kind: ConfigKind,
    name: &str,
) -> Option<ConfigCopy> {
    let name = ObjectName::new(namespace, name);
    match kind {
        ConfigKind::ConfigMap => {
            snapshot.offload_config_maps.get(&name).map(|map| map.object.copy.clone())
        }
        ConfigKind::Secret => {
            snapshot.offload_secrets.get(&name).map(|secret| secret.object.copy.clone())
        }
    }
}

impl Subject<'_> {
    /// Whether it cannot be decided without a view that is not complete: one that has both, a Pod and an export, mostly can.
    fn depends_on(&self, views: Views) -> bool {
        let is_missing = views.pods.is_none() || views.exports.is_none();
        is_missing && (self.object.is_none() || self.export.is_none())
    }

    fn act(&self, action: life::Action, refused: Option<&Rejection>, plan: &mut Plan) {
        match action {
            life::Action::Export(spec) | life::Action::Update(spec) => self.ensure(&spec, plan),
            life::Action::Stop { grace_seconds } => self.stop(grace_seconds, plan),
            life::Action::Status(desired) => self.status(&desired, refused, plan),
            life::Action::Remove { uid } => self.remove(&uid, plan),
            life::Action::Notify(found) => {
                plan.events.extend(self.object.map(|pod| notice(pod, found)));
            }
        }
    }

    fn provider(&self) -> HubProvider {
        let exports: BTreeMap<_, _> =
            self.state.iter().map(|state| (self.uid.to_string(), state.clone())).collect();
        HubProvider { cluster: self.settings.identity.cluster.clone(), exports: Some(exports) }
    }

    fn ensure(&self, spec: &PodExportSpec, plan: &mut Plan) {
        // An export that cannot be read is replaced as a whole.
        let writes = self.provider().ensure(spec);
        self.send(writes, plan);
    }

    fn stop(&self, grace_seconds: i64, plan: &mut Plan) {
        self.send(self.provider().stop(&self.uid.to_string(), grace_seconds), plan);
    }

    /// Sends the first write that is missing: a second one to the same object would be refused, since the first one makes another
    /// version of it. It follows when this one shows.
    fn send(&self, writes: Result<Vec<Write>, ProviderError>, plan: &mut Plan) {
        let first = writes.unwrap_or_default().into_iter().next();
        let step = first.and_then(|write| steps::step(ClusterId::Hub, write, self.export));
        if let Some(step) = step {
            let created = matches!(step.action, Action::Create(_));
            let namespace = self.object.map(|pod| &pod.name.namespace);
            let step = match namespace {
                Some(namespace) => step.on_account_of(namespace),
                None => step,
            };
            let sent = plan.push(step);
            if created {
                plan.measure_after(sent, Measurement::PodExported);
            }
        }
    }

    fn status(&self, desired: &DesiredStatus, refused: Option<&Rejection>, plan: &mut Plan) {
        let (Some(object), Some(pod)) = (self.object, &self.pod) else { return };
        match status_write(object, pod, desired, self.node.address, self.writes) {
            StatusWrite::None => {}
            StatusWrite::After(rest) => plan.wake_within(rest),
            StatusWrite::Now(step) => {
                let sent = plan.push(*step);
                plan.measure_after(sent, Measurement::PodStatusWritten);
                if let Some(refused) = refused {
                    plan.measure_after(sent, Measurement::PodRefused(refused.clone()));
                }
                if let Some(since) = self.turned(desired) {
                    plan.measure_after(sent, Measurement::PodReadinessWritten(since));
                }
            }
        }
    }

    /// When the Pod has become ready or not in its executor, if its status is to show that now.
    fn turned(&self, desired: &DesiredStatus) -> Option<Timestamp> {
        let remote = self.state.as_ref()?.remote.as_ref()?;
        let local = self.pod.as_ref()?.conditions.iter().find(|one| one.type_ == "Ready");
        let ready = remote.conditions.iter().find(|one| one.type_ == "Ready")?;
        let turns = local.is_none_or(|local| local.status != desired.is_ready());
        let follows = ready.status == desired.is_ready() && self.node.link == Link::Alive;
        ready.last_transition_time.as_ref().filter(|_| turns && follows).map(|time| time.0)
    }

    /// Removes the Pod, but not in a plan that writes its status: the last one is to be seen. A finalizer of another client may
    /// hold one that is removed already.
    fn remove(&self, uid: &str, plan: &mut Plan) {
        let Some(object) = self.object.filter(|pod| pod.uid.to_string() == uid) else { return };
        let metadata = &object.object.document["metadata"];
        let is_removed = metadata["deletionGracePeriodSeconds"].as_i64() == Some(0);
        let is_written = plan.steps.iter().any(|step| step.kind == fleet_api::kinds::POD);
        if is_removed || is_written || plan.wake_after.is_some_and(|rest| rest.as_secs() < 1) {
            return;
        }
        let action = Action::Delete { at: at(object), grace_seconds: Some(0) };
        let step = Step::new(ClusterId::Local, fleet_api::kinds::POD, object.name.clone(), action);
        let sent = plan.push(step);
        plan.measure_after(sent, Measurement::PodRemoved);
    }
}
