//! Which members import the Service.
//!
//! The claim is an annotation of the ServiceImport, in the format of the Go agents. It lists the members
//! that import the Service: any number, or one with `--exclusive-imports`. It changes only by a patch that
//! tests the version from which the present holders were read. The grant of a member is the status of its
//! request.

use std::collections::{BTreeMap, BTreeSet};

use fleet_accumulator::{Meta, Object};
use fleet_api::{ObjectName, ServiceImportStatus, ServiceInUseBy, annotations, finalizers, kinds};
use fleet_model::objects::ServiceImport;
use fleet_model::owners::is_mcs;
use fleet_model::steps::HUB;
use fleet_plan::json_patch::{add_finalizer, remove, remove_finalizer, set_entries};
use fleet_plan::{Plan, Step, StepId};
use serde_json::Value;

use super::notice;
use super::refusal::Refusal;
use super::resolution::PortResolution;
use super::state::{Request, ServiceState};

/// Importing members by their namespace on the hub, with the state of their claim.
pub(super) type Importers<'a> = BTreeMap<&'a str, Grant>;

/// The state of one member's claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grant {
    /// The member holds the claim.
    Held,
    /// This step gives it the claim.
    GainedBy(StepId),
    /// It gets the claim in a later plan. Until then its copies of slices stay as they are.
    Pending,
}

/// The members that hold the claim at present.
enum Holders {
    Listed(ServiceInUseBy),
    /// The annotation cannot be parsed, so any member may hold the claim.
    Unreadable,
}

impl Holders {
    fn of(import: &Object<ServiceImport>) -> Self {
        let text = import.meta.annotation(annotations::SERVICE_IN_USE_BY);
        ServiceInUseBy::parse(text).map_or(Self::Unreadable, Self::Listed)
    }

    fn include(&self, request: &Request<'_>) -> bool {
        match self {
            Self::Listed(held) => {
                held.member_clusters.contains_key(&*request.object.name.namespace)
            }
            Self::Unreadable => false,
        }
    }

    fn may_include(&self, request: &Request<'_>) -> bool {
        matches!(self, Self::Unreadable) || self.include(request)
    }

    /// Whether there is no readable claim.
    fn are_unknown(&self) -> bool {
        !matches!(self, Self::Listed(held) if !held.is_empty())
    }
}

/// Brings the claim and the grants in line with the requests. `status_write` is the write of the
/// ServiceImport's status in this plan, if any.
pub(super) fn sync<'a>(
    state: &ServiceState<'a>,
    import: &Object<ServiceImport>,
    resolution: &PortResolution<'_>,
    status_write: Option<StepId>,
    plan: &mut Plan,
) -> Importers<'a> {
    let holders = Holders::of(import);
    let chosen = choose(state, &holders);
    let revoked = revoke_others(state, &chosen, plan);
    // Both writes go to the ServiceImport: the claim waits for the version that has the status.
    let claim = match status_write {
        None => write_claim(&chosen, import, &holders, &revoked, plan),
        Some(_) => None,
    };
    let written = written(plan);
    let mut importers = Importers::new();
    for request in chosen.iter().chain(&also_granted(state)) {
        let grant = match &claim {
            _ if holders.include(request) => Grant::Held,
            Some(claim) if claim.holders.include(request) => Grant::GainedBy(claim.step),
            _ => Grant::Pending,
        };
        importers.insert(&request.object.name.namespace, grant);
        if !written.contains(&request.object.name) {
            sync_grant(request, grant, resolution, status_write, plan);
        }
    }
    annotate_waiting(state, &chosen, plan);
    release_unclaimed(state, &holders, claim.map(|claim| claim.step), plan);
    importers
}

/// Withdraws the grants, then the claim of a ServiceImport that is being deleted. Returns the step after
/// which that is gone, if this plan gets that far.
pub(super) fn withdraw(state: &ServiceState<'_>, plan: &mut Plan) -> Option<StepId> {
    let requests = state.requests.iter();
    let cleared: Vec<_> = requests
        .filter_map(|request| revoke(request).or_else(|| annotate_holder(request, None)))
        .map(|step| plan.push(step))
        .collect();
    let import = state.import.filter(|import| {
        import.meta.is_terminating() && import.meta.has_finalizer(finalizers::SERVICE_IMPORT)
    })?;
    let released = plan.push(HUB.patch(import, release_operations(&import.meta)).after(cleared));
    // Otherwise the finalizer of another party holds it.
    state.releasable_import().map(|_| released)
}

/// Removes the claim and the hub's finalizer from a ServiceImport that a user has deleted. Grants and
/// copies of slices stay until a new one is there.
pub(super) fn release_import(import: &Object<ServiceImport>, plan: &mut Plan) {
    let operations = release_operations(&import.meta);
    if !operations.is_empty() {
        plan.push(HUB.patch(import, operations));
    }
}

/// The removals of the hub's finalizer from requests that are being deleted. They have to wait until the
/// claim no longer lists the members.
pub(super) fn release_requests(state: &ServiceState<'_>) -> impl Iterator<Item = Step> {
    state.terminating_requests().filter_map(|request| release(&request))
}

/// The requests that are to hold the claim.
///
/// With `--exclusive-imports` that is one: the one that holds it, else the oldest. Of several holders
/// the oldest keeps the claim. Where the claim was lost, the grants show which member had it.
fn choose<'a>(state: &ServiceState<'a>, holders: &Holders) -> Vec<Request<'a>> {
    let live: Vec<_> = state.live_requests().collect();
    if !state.settings.exclusive_imports {
        return live;
    }
    let holder = live.iter().find(|request| holders.include(request));
    let granted =
        |request: &&Request<'_>| holders.are_unknown() && !request.object.status.is_empty();
    let chosen = holder.or_else(|| live.iter().find(granted)).or_else(|| live.first());
    chosen.copied().into_iter().collect()
}

/// Requests that do not count for the claim, but are granted like the older one of their member, which may read either.
fn also_granted<'a>(state: &ServiceState<'a>) -> Vec<Request<'a>> {
    let duplicate = |refusal| matches!(refusal, Refusal::Duplicate(_));
    let refused = state.refused_requests().filter(|_| !state.settings.exclusive_imports);
    refused.filter(|(_, refusal)| duplicate(*refusal)).map(|(request, _)| request).collect()
}

/// Reports requests that do not count, and why.
pub(super) fn report_refused(state: &ServiceState<'_>, plan: &mut Plan) {
    let mut notices = Vec::new();
    for (request, why) in state.refused_requests() {
        let event = why.event(request.object, state.service);
        notices.extend(notice::annotate(request.object, Some(&event.note)));
        plan.events.push(event);
    }
    notices.extend(state.live_requests().filter_map(|it| notice::annotate(it.object, None)));
    let written = written(plan);
    plan.steps.extend(notices.into_iter().filter(|step| !written.contains(&step.name)));
}

fn names<'a>(requests: &[Request<'a>]) -> BTreeSet<&'a ObjectName> {
    requests.iter().map(|request| &request.object.name).collect()
}

/// Revokes the grants that the member policy no longer allows. With `--exclusive-imports`, also those of all members but the
/// chosen one, so that no two are granted at once. If no member is chosen, a grant stays until its request is gone.
fn revoke_others(state: &ServiceState<'_>, chosen: &[Request<'_>], plan: &mut Plan) -> Vec<StepId> {
    let exclusive = state.settings.exclusive_imports && !chosen.is_empty();
    let chosen = names(chosen);
    let others = state.requests.iter().filter(|request| !chosen.contains(&request.object.name));
    let others = others.filter(|request| exclusive || state.is_forbidden(request));
    others.filter_map(revoke).map(|step| plan.push(step)).collect()
}

/// A write of the claim.
struct ClaimWrite {
    step: StepId,
    /// Those that hold the claim afterwards.
    holders: Holders,
}

fn write_claim(
    chosen: &[Request<'_>],
    import: &Object<ServiceImport>,
    holders: &Holders,
    revoked: &[StepId],
    plan: &mut Plan,
) -> Option<ClaimWrite> {
    // Present holders included: a user may have removed the finalizer of their request.
    let mut guards: Vec<_> = chosen.iter().filter_map(guard).map(|step| plan.push(step)).collect();
    // A request that lacks the finalizer is listed when it has it, so that the others do not wait for that.
    let ready = |request: &&Request<'_>| guard(request).is_none() || holders.include(request);
    let mut listed: Vec<_> = chosen.iter().filter(ready).collect();
    if listed.is_empty() {
        listed = chosen.iter().collect();
    } else {
        guards.clear();
    }
    let claim = |request: &Request<'_>| {
        (request.object.name.namespace.to_string(), request.member.to_owned())
    };
    let desired: ServiceInUseBy = listed.into_iter().map(claim).collect();
    let mut operations = claim_operations(&import.meta, holders, &desired);
    operations.extend(remove_owners(&import.meta));
    if operations.is_empty() {
        return None;
    }
    let after = guards.into_iter().chain(revoked.iter().copied());
    let step = plan.push(HUB.patch(import, operations).after(after));
    Some(ClaimWrite { step, holders: Holders::Listed(desired) })
}

/// Annotation and finalizer change in one write; both go with the last importer.
fn claim_operations(meta: &Meta, holders: &Holders, desired: &ServiceInUseBy) -> Vec<Value> {
    if desired.is_empty() {
        return release_operations(meta);
    }
    let json = desired.to_annotation();
    let mut operations = add_finalizer(meta, finalizers::SERVICE_IMPORT);
    if !matches!(holders, Holders::Listed(held) if held == desired) {
        let entry = [(annotations::SERVICE_IN_USE_BY, Some(json.as_str()))];
        operations.extend(set_entries(meta, "annotations", &entry));
    }
    operations
}

/// Takes off the owners that users have added: the garbage collector would delete the ServiceImport with them. A
/// MultiClusterService stays, with whose agent the hub's would contend for it.
fn remove_owners(meta: &Meta) -> Option<Value> {
    let added = !meta.owners.is_empty() && !meta.owners.iter().any(is_mcs);
    added.then(|| remove(&["metadata", "ownerReferences"]))
}

/// Removes the claim together with the finalizer.
fn release_operations(meta: &Meta) -> Vec<Value> {
    let mut operations =
        set_entries(meta, "annotations", &[(annotations::SERVICE_IN_USE_BY, None)]);
    operations.extend(remove_finalizer(meta, finalizers::SERVICE_IMPORT));
    operations
}

/// Adds the finalizer that requests of Go members lack, before the claim lists their member.
fn guard(request: &Request<'_>) -> Option<Step> {
    HUB.add_finalizer(request.object, finalizers::INTERNAL_SERVICE_IMPORT)
}

/// Writes the grant, a copy of the ServiceImport's status, once the member has the claim.
fn sync_grant(
    request: &Request<'_>,
    grant: Grant,
    resolution: &PortResolution<'_>,
    status_write: Option<StepId>,
    plan: &mut Plan,
) {
    let desired = &resolution.status;
    let granted = *request.object.status == *desired;
    if granted || grant == Grant::Pending {
        return;
    }
    let claim_write = if let Grant::GainedBy(step) = grant { Some(step) } else { None };
    let step = HUB.status(request.object, desired);
    plan.push(step.after(status_write.into_iter().chain(claim_write)));
}

/// Empties the status of a request that has a grant.
fn revoke(request: &Request<'_>) -> Option<Step> {
    let granted = !request.object.status.is_empty();
    granted.then(|| HUB.status(request.object, &ServiceImportStatus::default()))
}

/// The requests that the plan writes already: a second write would name an outdated version.
fn written(plan: &Plan) -> BTreeSet<ObjectName> {
    let steps = plan.steps.iter().filter(|step| step.kind == kinds::INTERNAL_SERVICE_IMPORT);
    steps.map(|step| step.name.clone()).collect()
}

/// Annotates each request that waits with the cluster that holds the claim.
fn annotate_waiting(state: &ServiceState<'_>, chosen: &[Request<'_>], plan: &mut Plan) {
    let (written, among) = (written(plan), names(chosen));
    for request in state.live_requests().filter(|it| !written.contains(&it.object.name)) {
        let waits = !among.contains(&request.object.name);
        let holder = chosen.first().filter(|_| waits).map(|holder| holder.member);
        plan.steps.extend(annotate_holder(&request, holder));
    }
}

/// Sets or removes the annotation that names the cluster a request waits for.
fn annotate_holder(request: &Request<'_>, holder: Option<&str>) -> Option<Step> {
    let entry = [(annotations::IMPORT_HELD_BY, holder)];
    let operations = set_entries(&request.object.meta, "annotations", &entry);
    (!operations.is_empty()).then(|| HUB.patch(request.object, operations))
}

/// Releases each request that is being deleted once its member no longer holds the claim, or holds it for another
/// request.
fn release_unclaimed(
    state: &ServiceState<'_>,
    holders: &Holders,
    claim_write: Option<StepId>,
    plan: &mut Plan,
) {
    let written = written(plan);
    let others: BTreeSet<_> = state.live_requests().map(|request| request.member).collect();
    for request in state.terminating_requests() {
        let held = holders.may_include(&request)
            && claim_write.is_none()
            && !others.contains(request.member);
        if held || written.contains(&request.object.name) {
            continue;
        }
        if let Some(step) = release(&request) {
            plan.push(step.after(claim_write));
        }
    }
}

/// Removes the hub's finalizer from a request.
fn release(request: &Request<'_>) -> Option<Step> {
    HUB.remove_finalizer(request.object, finalizers::INTERNAL_SERVICE_IMPORT)
}
