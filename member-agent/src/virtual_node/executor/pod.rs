//! What is still to be done about one Pod of another member.

use std::collections::BTreeMap;
use std::time::Duration;

use fleet_accumulator::{ClusterId, Object};
use fleet_api::offload::{LinkState, OffloadOfferSpec, PodImportStatus, Refusal, StopRequest};
use fleet_api::{ObjectName, finalizers, kinds};
use fleet_model::objects::offload::{PodDocument, PodImport, PodIndex};
use fleet_model::steps::{HUB, LOCAL};
use fleet_plan::{Action, Step, StepId};
use fleet_virtual_node::executor::{Execution, Refused, execute};
use fleet_virtual_node::hub::{DEFAULT_GRACE_SECONDS, HubImport};
use fleet_virtual_node::life::{Fuse, Leftover, leftover};
use fleet_virtual_node::names;
use fleet_virtual_node::pod::Rejection;
use fleet_virtual_node::provider::{ClusterProvider, Write, WriteAction};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::Value;

use super::super::steps;
use super::equipment::{Equipment, equip};
use super::{quota, status};
use crate::Settings;
use crate::executors::consent;
use crate::left_over;
use crate::links::Links;
use crate::measurement::{Measurement, Plan};
use crate::refusals::Refusals;
use crate::snapshot::MemberSnapshot;
use crate::status_writes::StatusWrites;
use crate::views::{POD_IMPORTS, complete_for};

/// When to look again at what waits for something that no event shows.
const AGAIN: Duration = Duration::from_secs(2);
/// Seconds without a sign of a member after which its Pods end, where this cluster offers nothing any more.
const LIFETIME: u64 = 24 * 60 * 60;
/// When to look whether a write was refused: a refusal is no change of an object.
const SOON: Duration = Duration::from_secs(1);
/// When to look again at a Pod that no node takes.
const UNPLACED: Duration = Duration::from_secs(30);

/// One import and its Pod.
struct Subject<'a> {
    settings: &'a Settings,
    writes: &'a StatusWrites,
    /// What this cluster has refused about it.
    refused: Option<Refused>,
    snapshot: &'a MemberSnapshot,
    uid: &'a str,
    import: &'a Object<PodImport>,
    /// The same, as decisions read it.
    state: HubImport,
    pod: Option<&'a Object<PodDocument>>,
    offer: Option<&'a OffloadOfferSpec>,
}

/// The writes that one Pod of another member still misses.
pub(super) fn plan(
    settings: &Settings,
    (links, writes, refusals): (&Links, &StatusWrites, &Refusals),
    source: &ObjectName,
    snapshot: &MemberSnapshot,
    now: Timestamp,
) -> Plan {
    let mut plan = Plan::default();
    let (member, uid) = (&*source.namespace, &*source.name);
    let index = PodIndex::Origin(member.into(), uid.into());
    let ours = |pod: &&Object<PodDocument>| is_in_place(pod, member, snapshot);
    let Some(import) = snapshot.pod_imports.by(source).next() else {
        let left = snapshot.remote_pods.by(&index).filter(ours);
        left.for_each(|pod| leave(pod, settings, links, snapshot, &mut plan));
        return plan;
    };
    let origin = &import.object.export.origin;
    let name = ObjectName::new(
        names::namespace(&origin.cluster, &origin.namespace),
        names::pod(&origin.name, &origin.uid),
    );
    // Another Pod with these labels is none of ours.
    let pod = snapshot.remote_pods.get(&name).filter(ours);
    let state = HubImport {
        spec: import.object.to_spec(),
        status: import.object.status.clone(),
        deleting: import.object.meta.is_terminating(),
    };
    let offer = offer(settings, snapshot);
    let refused = refusals.of(&import.name.name);
    let subject = Subject { settings, writes, refused, snapshot, uid, import, state, pod, offer };
    if origin.cluster != member || origin.uid != uid {
        subject.refuse(&Rejection::new(Refusal::InvalidValue, "origin"), &mut plan);
        return plan;
    }
    let silent = silence(&subject, member, links);
    // Silence grows without a change of the snapshot.
    let ends = agreed(&subject).or_else(|| (!silent.is_zero()).then(|| subject.lifetime()));
    if let Some(after) = ends {
        let rest = after.saturating_sub(silent);
        plan.wake_within(rest.clamp(Duration::from_secs(1), Duration::from_hours(1)));
    }
    subject.plan(silent, &name, now, &mut plan);
    plan
}

/// What this cluster offers. What cannot be read takes nothing back: then it is what the hub has of it.
fn offer<'a>(settings: &Settings, snapshot: &'a MemberSnapshot) -> Option<&'a OffloadOfferSpec> {
    match consent(&settings.identity, snapshot)?.object.offer.as_ref()? {
        Ok(offer) => Some(offer),
        Err(_) => snapshot.offload_offers.iter().next().map(|offer| &offer.object.spec),
    }
}

/// Whether a Pod is in a namespace that this agent has made for its member.
pub(super) fn is_in_place(
    pod: &Object<PodDocument>,
    member: &str,
    snapshot: &MemberSnapshot,
) -> bool {
    let space = snapshot.namespaces.get(&ObjectName::cluster(&*pod.name.namespace));
    let mark = space.and_then(|space| space.object.offload.as_ref());
    mark.is_some_and(|mark| *mark.origin == *member)
}

/// After how long without a sign of its member, or of the hub, a Pod ends, if that was agreed on.
fn agreed(subject: &Subject<'_>) -> Option<Duration> {
    subject.import.object.export.disconnect.stop_after().map(Duration::from_secs)
}

/// For how long there has been no sign of a member, or of the hub if its Pods count on that: [`cut_off`](super::cut_off) stops them, too,
/// and here none is made again.
fn silence(subject: &Subject<'_>, member: &str, links: &Links) -> Duration {
    let offers = subject.snapshot.offload_offers.iter();
    let mut origins = offers.flat_map(|offer| &offer.object.status.origins);
    let is_silent = origins.any(|link| link.cluster == member && link.state == LinkState::Silent);
    match agreed(subject) {
        Some(after) => {
            let peer = if is_silent { links.silence_within(member, after) } else { Duration::ZERO };
            peer.max(links.hub_silence_within(after))
        }
        None if is_silent => links.silence(member),
        None => Duration::ZERO,
    }
}

/// A Pod without an import: it is stopped, unless so much seems to be left over that the view is more probably wrong.
fn leave(
    pod: &Object<PodDocument>,
    settings: &Settings,
    links: &Links,
    snapshot: &MemberSnapshot,
    plan: &mut Plan,
) {
    if pod.object.meta.is_terminating() {
        return;
    }
    let complete = complete_for(POD_IMPORTS, links, &settings.identity, snapshot);
    let confirmed = links.is_confirmed(POD_IMPORTS);
    match leftover(left_over::of_executor(snapshot), complete, confirmed, Fuse::default()) {
        Leftover::Stop => {
            plan.push(LOCAL.delete(pod));
            plan.measure(Measurement::DanglingStop);
        }
        Leftover::Keep(rest) => plan.wake_within(rest),
        Leftover::Unknown => plan.wake_within(AGAIN),
    }
}

impl Subject<'_> {
    fn plan(&self, silent: Duration, name: &ObjectName, now: Timestamp, plan: &mut Plan) {
        let mut state = self.state.clone();
        if self.is_abandoned(silent) && state.spec.stop.is_none() {
            let whole = Timestamp::from_second(now.as_second()).unwrap_or(now);
            let grace_seconds = DEFAULT_GRACE_SECONDS;
            state.spec.stop = Some(StopRequest { grace_seconds, requested_at: Time(whole) });
        }
        let provider = self.provider(now);
        let refused = self.refused.as_ref();
        let Execution { writes, status, release, is_settled, again_after } =
            execute(self.uid, &state, &provider, Some(silent), refused);
        if !writes.is_empty() {
            plan.wake_within(SOON);
        }
        if let Some(after) = again_after {
            plan.wake_within(after);
        }
        if is_settled && refused.is_some() {
            plan.measure(Measurement::RemotePodSettled);
        }
        let new = writes.iter().find_map(|write| match &write.action {
            WriteAction::Create(pod) => Some(pod.clone()),
            _ => None,
        });
        if let Some(new) = new {
            match self.place(&new, plan) {
                Ok(Some(after)) => self.send(writes, &after, plan),
                Ok(None) => plan.wake_within(AGAIN),
                Err(rejection) => {
                    self.refuse(&rejection, plan);
                    return;
                }
            }
        } else {
            self.send(writes, &[], plan);
        }
        if let Some(status) = status {
            self.report(&status, name, plan);
        }
        if release {
            let removed = HUB.remove_finalizer(self.import, finalizers::POD_IMPORT);
            if let Some(step) = removed {
                plan.push(step);
            }
        }
        if self.pod.is_some_and(|pod| is_unplaced(&pod.object)) {
            plan.wake_within(UNPLACED);
        }
    }

    /// Whether its member has given no sign for so long that its Pods are not kept any more.
    fn is_abandoned(&self, silent: Duration) -> bool {
        agreed(self).is_none() && silent >= self.lifetime()
    }

    /// For how long Pods of a silent member are kept.
    fn lifetime(&self) -> Duration {
        let lifetime = self.offer.and_then(|offer| u64::try_from(offer.origin_ttl_seconds).ok());
        Duration::from_secs(lifetime.unwrap_or(LIFETIME))
    }

    fn provider(&self, now: Timestamp) -> ClusterProvider {
        let export = self.state.spec.export.clone();
        let pod = self.pod.map(|pod| pod.object.document.clone());
        let reported = self.state.status.remote.clone();
        let uid = || self.uid.to_owned();
        ClusterProvider {
            terms: self.offer.map(|offer| offer.terms.clone()).unwrap_or_default(),
            specs: BTreeMap::from([(uid(), export)]),
            pods: Some(pod.map(|pod| (uid(), pod)).into_iter().collect()),
            reported: reported.map(|remote| (uid(), remote)).into_iter().collect(),
            now,
        }
    }

    /// Makes place for a new Pod: the steps that come first, or nothing if it has to wait.
    fn place(&self, new: &Value, plan: &mut Plan) -> Result<Option<Vec<StepId>>, Rejection> {
        let not_offered = || Rejection::new(Refusal::NotOffered, "executor");
        let offer = self.offer.ok_or_else(not_offered)?;
        let origin = &self.state.spec.export.origin;
        quota::fits(self.import, new, &offer.capacity, self.snapshot)?;
        match equip(self.settings, origin, offer, self.snapshot, plan) {
            Equipment::After(steps) => Ok(Some(steps)),
            Equipment::Ending => Ok(None),
            Equipment::Taken => {
                Err(Rejection::new(Refusal::NamespaceNotOffered, "origin.namespace"))
            }
        }
    }

    fn send(&self, writes: Vec<Write>, after: &[StepId], plan: &mut Plan) {
        let mut configs = Vec::new();
        for write in writes {
            let is_pod = write.kind == kinds::POD;
            let Some(step) = steps::step(ClusterId::Local, write, self.pod) else { continue };
            let created = matches!(step.action, Action::Create(_));
            if is_pod {
                // The Pod starts once what it needs is there.
                let sent = plan.push(step.after(after.iter().copied()).after(configs.drain(..)));
                if created {
                    plan.measure_after(sent, Measurement::RemotePodCreated);
                }
            } else {
                configs.push(plan.push(step));
            }
        }
    }

    fn refuse(&self, rejection: &Rejection, plan: &mut Plan) {
        let before = &self.state.status;
        let rejected = Some(rejection.report(&self.state.spec.export.spec_hash));
        let status = PodImportStatus { rejected, ..before.clone() }.bounded();
        if status != *before {
            plan.push(HUB.status(self.import, &status));
        }
    }

    /// Reports the status. That nothing is left of a Pod is read from the API server before.
    fn report(&self, status: &PodImportStatus, name: &ObjectName, plan: &mut Plan) {
        let before = &self.state.status;
        let since = self.writes.since(&self.import.name.name);
        if let Some(rest) = status::rest(before, status, since) {
            plan.wake_within(rest);
            return;
        }
        let step: Step = HUB.status(self.import, status);
        let step = if status.released && !before.released {
            let absent = plan.push(LOCAL.confirm_absent::<PodDocument>(name.clone()));
            step.after([absent])
        } else {
            step
        };
        let sent = plan.push(step);
        plan.measure_after(sent, Measurement::ImportStatusWritten);
    }
}

fn is_unplaced(pod: &PodDocument) -> bool {
    let status = &pod.document["status"];
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let unplaced = |one: &Value| one["type"] == "PodScheduled" && one["reason"] == "Unschedulable";
    status["phase"] == "Pending" && conditions.into_iter().any(unplaced)
}
