//! Which members import the Service.
//!
//! The claim is an annotation of the ServiceImport, as the Go agents know it. Any number of members
//! may hold it at once, or one with `--exclusive-imports`. It changes only by a patch that tests the
//! version in which the previous holders were read.

use std::collections::BTreeMap;

use fleet_accumulator::Object;
use fleet_api::{ServiceImportStatus, ServiceInUseBy, annotations, finalizers, kinds};
use fleet_model::objects::{InternalServiceImport, ServiceImport};
use fleet_model::steps::HUB;
use fleet_plan::json_patch::{add_finalizer, remove_finalizer, set_entries};
use fleet_plan::{Plan, Step, StepId};
use serde_json::Value;

use super::resolution::{PortResolution, Resolved};
use super::state::{Owned, ServiceState};

/// A request, and whose it is.
type Request<'a> = Owned<'a, InternalServiceImport>;

/// Namespaces of the members that hold the claim or are to hold it.
pub(super) type Importers<'a> = BTreeMap<&'a str, Grant>;

/// How far the claim of one member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grant {
    /// It holds the claim.
    Held,
    /// This step gives it the claim.
    GainedBy(StepId),
    /// It gets the claim in a later plan. Until then its copies stay as they are.
    Pending,
}

/// Who holds the claim now.
enum Holders {
    Listed(ServiceInUseBy),
    /// Anybody may.
    Unreadable,
}

impl Holders {
    fn of(import: &Object<ServiceImport>) -> Self {
        let text = import.meta.annotation(annotations::SERVICE_IN_USE_BY);
        ServiceInUseBy::parse(text).map_or(Self::Unreadable, Self::Listed)
    }

    fn list(&self, request: &Request<'_>) -> bool {
        match self {
            Self::Listed(held) => {
                held.member_clusters.contains_key(&*request.object.name.namespace)
            }
            Self::Unreadable => false,
        }
    }

    /// Whether the claim says anything.
    fn speak(&self) -> bool {
        matches!(self, Self::Listed(held) if !held.is_empty())
    }
}

/// Brings the claim and the grants in line with the requests.
pub(super) fn sync<'a>(
    state: &ServiceState<'a>,
    resolution: &PortResolution<'_>,
    resolved: &Resolved<'a>,
    plan: &mut Plan,
) -> Importers<'a> {
    let holders = Holders::of(resolved.import);
    let chosen = choose(state, &holders);
    let revoked = revoke(state, &chosen, plan);
    // Both writes go to the ServiceImport; the claim waits for the version that has the status.
    let claim_write = match resolved.status_write {
        None => write_claim(&chosen, resolved, &holders, &revoked, plan),
        Some(_) => None,
    };
    let mut importers = Importers::new();
    for request in &chosen {
        let grant = match claim_write {
            _ if holders.list(request) => Grant::Held,
            Some(step) => Grant::GainedBy(step),
            None => Grant::Pending,
        };
        importers.insert(&request.object.name.namespace, grant);
        let ready = grant != Grant::Pending && !is_written(plan, request);
        if let Some(step) = fulfil(*request, resolution).filter(|_| ready) {
            let gained = claim_write.filter(|_| grant != Grant::Held);
            plan.push(step.after(resolved.status_write.into_iter().chain(gained)));
        }
    }
    tell_who_holds(state, &chosen, plan);
    release_leaving(state, &holders, claim_write, plan);
    importers
}

/// The requests that are to hold the claim.
///
/// With `--exclusive-imports` that is one: the one that holds it, else the oldest. Of several that
/// hold it the oldest keeps it. Where the claim was lost, the grants still tell who had it.
fn choose<'a>(state: &ServiceState<'a>, holders: &Holders) -> Vec<Request<'a>> {
    let live: Vec<_> = state.live_requests().collect();
    if !state.settings.exclusive_imports {
        return live;
    }
    let granted = |request: &&Request<'_>| !holders.speak() && !request.object.status.is_empty();
    let holder = live.iter().find(|request| holders.list(request));
    holder
        .or_else(|| live.iter().find(granted))
        .or_else(|| live.first())
        .copied()
        .into_iter()
        .collect()
}

fn is_among(chosen: &[Request<'_>], request: &Request<'_>) -> bool {
    chosen.iter().any(|chosen| chosen.object.name == request.object.name)
}

/// Empties the grants of those that are not to hold the claim while another one is: no two are
/// granted at once. One that is being deleted and has no successor takes its grant along.
fn revoke(state: &ServiceState<'_>, chosen: &[Request<'_>], plan: &mut Plan) -> Vec<StepId> {
    if !state.settings.exclusive_imports || chosen.is_empty() {
        return Vec::new();
    }
    let others = state.requests.iter().filter(|request| !is_among(chosen, request));
    others.filter_map(|request| clear(*request)).map(|step| plan.push(step)).collect()
}

fn write_claim(
    chosen: &[Request<'_>],
    resolved: &Resolved<'_>,
    holders: &Holders,
    revoked: &[StepId],
    plan: &mut Plan,
) -> Option<StepId> {
    let claim = |request: &Request<'_>| {
        (request.object.name.namespace.to_string(), request.member.to_owned())
    };
    let wanted: ServiceInUseBy = chosen.iter().map(claim).collect();
    // Also of those that hold the claim already: somebody may have taken theirs away.
    let guards: Vec<_> = chosen.iter().filter_map(guard).map(|step| plan.push(step)).collect();
    let operations = claim_operations(resolved, holders, &wanted);
    if operations.is_empty() {
        return None;
    }
    let after = guards.into_iter().chain(revoked.iter().copied());
    Some(plan.push(HUB.patch(resolved.import, operations).after(after)))
}

/// Annotation and finalizer change in one write; both go with the last importer.
fn claim_operations(
    resolved: &Resolved<'_>,
    holders: &Holders,
    wanted: &ServiceInUseBy,
) -> Vec<Value> {
    let meta = &resolved.import.meta;
    if wanted.is_empty() {
        return unclaim_operations(meta);
    }
    let json = wanted.to_annotation();
    let mut operations = add_finalizer(meta, finalizers::SERVICE_IMPORT);
    if !matches!(holders, Holders::Listed(held) if held == wanted) {
        let entry = [(annotations::SERVICE_IN_USE_BY, Some(json.as_str()))];
        operations.extend(set_entries(meta, "annotations", &entry));
    }
    operations
}

/// Drops annotation and finalizer.
pub(super) fn unclaim_operations(meta: &fleet_accumulator::Meta) -> Vec<Value> {
    let mut operations =
        set_entries(meta, "annotations", &[(annotations::SERVICE_IN_USE_BY, None)]);
    operations.extend(remove_finalizer(meta, finalizers::SERVICE_IMPORT));
    operations
}

/// A request made by a Go member carries no finalizer of the hub yet; it gets one before the claim.
fn guard(request: &Request<'_>) -> Option<Step> {
    let operations = add_finalizer(&request.object.meta, finalizers::INTERNAL_SERVICE_IMPORT);
    (!operations.is_empty()).then(|| HUB.patch(request.object, operations))
}

/// The grant is the status of the request: a copy of the ServiceImport's.
fn fulfil(request: Request<'_>, resolution: &PortResolution<'_>) -> Option<Step> {
    let wanted = &resolution.status;
    (*request.object.status != *wanted).then(|| HUB.status(request.object, wanted))
}

/// The status of a request without a grant.
pub(super) fn clear(request: Request<'_>) -> Option<Step> {
    let granted = !request.object.status.is_empty();
    granted.then(|| HUB.status(request.object, &ServiceImportStatus::default()))
}

/// Whether the plan has a write to the request: a second one would not fit its version.
fn is_written(plan: &Plan, request: &Request<'_>) -> bool {
    let name = &request.object.name;
    plan.steps.iter().any(|step| step.kind == kinds::INTERNAL_SERVICE_IMPORT && step.name == *name)
}

/// A request that waits carries the name of the cluster it waits for.
fn tell_who_holds(state: &ServiceState<'_>, chosen: &[Request<'_>], plan: &mut Plan) {
    for request in state.live_requests() {
        let waits = !is_among(chosen, &request);
        let holder = chosen.first().filter(|_| waits).map(|holder| holder.member);
        if let Some(step) = tell(request, holder).filter(|_| !is_written(plan, &request)) {
            plan.push(step);
        }
    }
}

/// Writes down whom a request waits for.
pub(super) fn tell(request: Request<'_>, holder: Option<&str>) -> Option<Step> {
    let entry = [(annotations::IMPORT_HELD_BY, holder)];
    let operations = set_entries(&request.object.meta, "annotations", &entry);
    (!operations.is_empty()).then(|| HUB.patch(request.object, operations))
}

/// A request goes once its member no longer holds the claim.
fn release_leaving(
    state: &ServiceState<'_>,
    holders: &Holders,
    claim_write: Option<StepId>,
    plan: &mut Plan,
) {
    for request in state.requests.iter().filter(|request| request.object.meta.is_terminating()) {
        let may_hold = matches!(holders, Holders::Unreadable) || holders.list(request);
        if may_hold && claim_write.is_none() || is_written(plan, request) {
            continue;
        }
        if let Some(step) = release(request) {
            plan.push(step.after(claim_write));
        }
    }
}

/// Takes the hub's finalizer off a request.
pub(super) fn release(request: &Request<'_>) -> Option<Step> {
    let operations = remove_finalizer(&request.object.meta, finalizers::INTERNAL_SERVICE_IMPORT);
    (!operations.is_empty()).then(|| HUB.patch(request.object, operations))
}
