//! The slices of an import: one for each exported slice of another cluster, and one for each slice of this cluster's own.

mod bound;
mod budget;
mod content;
mod directed;
mod foreign;
mod in_force;
mod marks;
mod names;
mod outcome;
pub(super) mod own;

use std::collections::BTreeSet;
use std::time::Duration;

use fleet_accumulator::Object;
use fleet_model::objects::ManagedSlice;
use fleet_model::objects::multicluster::FleetSlice;
use fleet_model::reference;
use fleet_model::steps::{HUB, LOCAL, to_json};
use fleet_plan::{Account, Action, Step, StepId, Trace};
use k8s_openapi::api::discovery::v1::EndpointSlice;

use bound::Wanted;
pub(super) use bound::{Binding, Bound};
use outcome::Outcome;

use super::source;
use super::state::ServiceState;
use super::target::Target;
use super::trust::{SliceFate, Source, Trust, slice_fate};
use crate::measurement::{Imported, Measurement, Plan};
use crate::slicing;
use crate::traffic::{self, KeptSlice};

/// How often slices that the hub lacks are looked at again: an exporter that does not come back to it counts as silent some day.
const KEPT_AGAIN: Duration = Duration::from_mins(1);

/// Brings the slices up to date, after these steps. Returns the writes, but for deletions.
pub(super) fn sync(
    state: &ServiceState<'_>,
    bound: Bound<'_>,
    after: &[StepId],
    plan: &mut Plan,
) -> Vec<StepId> {
    let mut outcome = Outcome::default();
    own::collect(state, bound, &mut outcome, plan);
    foreign::collect(state, bound, &mut outcome, plan);
    let left =
        state.imported.iter().filter(|slice| !outcome.wanted.contains_key(&*slice.name.name));
    let (going, kept): (Vec<_>, Vec<_>) = left.copied().partition(|slice| {
        !outcome.kept.contains(&*slice.name.name) && goes(state, bound, slice, &outcome)
    });
    for slice in going {
        let Some(step) = delete(slice) else { continue };
        let absent = absent(state, bound, slice, &outcome).map(|step| plan.push(step));
        plan.push(step.after(absent));
    }
    let waiting = direct(state, bound, &kept, &mut outcome, plan);
    let turns = outcome.wanted.iter().any(|(name, wanted)| {
        let current = state.imported_as(name).map(|current| &current.slice);
        wanted.cluster == state.cluster()
            && current.is_some_and(|current| has_hints(current) != has_hints(&wanted.slice))
    });
    // Who writes own endpoints waits for the label.
    let may_wait = |name: &String, wanted: &Wanted| {
        let current = state.imported_as(name);
        waiting.contains(name)
            && !current.is_some_and(|current| marks::rebinds(&current.slice, &wanted.slice))
    };
    let loses_hints = |name: &String, wanted: &Wanted| {
        let current = state.imported_as(name);
        current.is_some_and(|current| has_hints(&current.slice)) && !has_hints(&wanted.slice)
    };
    let voids_hints =
        |wanted: &Wanted| wanted.cluster == state.cluster() && content::voids_hints(&wanted.slice);
    let any = |is: &dyn Fn(&String, &Wanted) -> bool| {
        outcome.wanted.iter().any(|(name, wanted)| is(name, wanted))
    };
    // A proxy would ignore the hints of those that wait beside an own endpoint that is written without.
    let none_waits = any(&|name, wanted| may_wait(name, wanted) && loses_hints(name, wanted))
        && any(&|name, wanted| !may_wait(name, wanted) && voids_hints(wanted));
    let wanted = outcome.wanted.into_iter();
    let wanted = wanted.filter(|(name, wanted)| none_waits || !may_wait(name, wanted));
    // Where own endpoints lose their hints, or get some, those of other clusters are last resort meanwhile: a proxy would ignore all
    // hints beside one that is ready without.
    let is_first = |(_, wanted): &(String, Wanted)| {
        let is_own = wanted.cluster == state.cluster();
        !turns || is_own != bound.steps.plain
    };
    let (first, second): (Vec<_>, Vec<_>) = wanted.partition(is_first);
    let mut writes: Vec<StepId> = Vec::new();
    for part in [first, second] {
        let after = After { always: after, order: there(&writes, plan) };
        writes.extend(part.into_iter().filter_map(|(name, wanted)| {
            write(state, &name, wanted, state.imported_as(&name), &after, plan)
        }));
    }
    writes
}

/// Puts endpoints where policies, drains and verdicts want them. Returns the names of slices that have to wait.
fn direct(
    state: &ServiceState<'_>,
    bound: Bound<'_>,
    kept: &[&Object<ManagedSlice>],
    outcome: &mut Outcome,
    plan: &mut Plan,
) -> BTreeSet<String> {
    let Some(ground) = &state.ground else { return BTreeSet::new() };
    let (mut moving, staying) = directed::part(ground, outcome, kept);
    if !kept.is_empty() {
        plan.wake_within(KEPT_AGAIN);
    }
    let directed = directed::direct(state, ground, bound, (&mut moving, staying), outcome);
    let waiting = directed::conclude(directed, state, &moving, outcome, plan);
    let kept = moving.iter().filter(|kept| !waiting.contains(kept.name()));
    plan.steps.extend(kept.filter_map(KeptSlice::step));
    waiting
}

/// What a write of a slice waits for.
struct After<'a> {
    /// Steps without which it would lead nowhere.
    always: &'a [StepId],
    /// Steps that keep the order of hints. An own endpoint that is gone does not wait for them: they may be refused for ever.
    order: Vec<StepId>,
}

/// The steps that change what is there: clients use it already, and one slice that the API server refuses must not keep the rest as it
/// is.
pub(super) fn there(steps: &[StepId], plan: &Plan) -> Vec<StepId> {
    let is_there = |id: &&StepId| !matches!(plan.steps[id.index()].action, Action::Create(_));
    steps.iter().filter(is_there).copied().collect()
}

/// Whether endpoints of a slice name zones.
pub(super) fn has_hints(slice: &EndpointSlice) -> bool {
    slice.endpoints.iter().any(|endpoint| endpoint.hints.is_some())
}

/// Whether a slice goes that nothing is wanted for.
fn goes(
    state: &ServiceState<'_>,
    bound: Bound<'_>,
    slice: &Object<ManagedSlice>,
    outcome: &Outcome,
) -> bool {
    // Only a label that was edited by hand names none.
    let Some(cluster) = source::cluster(&slice.slice) else { return true };
    if cluster == state.cluster() || outcome.removed.contains(&*slice.name.name) {
        return true;
    }
    if state.hub.is_some_and(|hub| hub.cannot_read_slice(cluster, &slice.name.name)) {
        return false;
    }
    let listed = is_listed(state, bound.target, cluster);
    let fate = slice_fate(bound.trust(state), listed, Source::Absent, state.may_remove(cluster));
    fate == SliceFate::Remove
}

/// Where a slice goes only because the hub lacks it: the question whether its API server has none, either. What a watch has missed
/// since the hub was rebuilt stays unknown until its next list.
fn absent(
    state: &ServiceState<'_>,
    bound: Bound<'_>,
    slice: &Object<ManagedSlice>,
    outcome: &Outcome,
) -> Option<Step> {
    let cluster = source::cluster(&slice.slice)?;
    let is_ours = cluster == state.cluster() || outcome.removed.contains(&*slice.name.name);
    if is_ours || !is_listed(state, bound.target, cluster) {
        return None;
    }
    let unseen = state.hub?.unseen_slice(cluster, &slice.name.name)?;
    Some(HUB.confirm_absent::<FleetSlice>(unseen).urgent())
}

/// Whether the hub lists a cluster among the exporters. If it states nothing about the Service, the import shows it.
fn is_listed(state: &ServiceState<'_>, target: &Target, cluster: &str) -> bool {
    let on_hub = state.resolved.is_none_or(|resolved| resolved.exporter(cluster).is_some());
    on_hub && target.lists(cluster)
}

fn write(
    state: &ServiceState<'_>,
    name: &str,
    wanted: Wanted,
    current: Option<&Object<ManagedSlice>>,
    after: &After<'_>,
    plan: &mut Plan,
) -> Option<StepId> {
    let there = current.and_then(|current| marks::generation(&current.slice, &wanted.slice));
    let arrival = arrival(&wanted, current, there);
    let Wanted { slice, source, cluster, generation, trace, .. } = wanted;
    let mut order = after.order.as_slice();
    let step = match current {
        None => {
            let body = to_json(&slice);
            LOCAL.create::<ManagedSlice>(state.beside(name), body)
        }
        Some(current) if current.is_terminating() => return None,
        Some(current)
            if content::is_current(&current.slice, &slice)
                && !falls_behind(&current.slice, &slice, source.as_ref()) =>
        {
            return None;
        }
        // The address type is immutable, so the slice is replaced by another object.
        Some(current) if current.slice.address_type != slice.address_type => {
            plan.steps.extend(delete(current));
            return None;
        }
        Some(current) => {
            let step = slicing::replace_whole(current, &slice);
            let loses = match &source {
                Some(source) => traffic::loses(&current.slice, source),
                None => content::loses(&current.slice, &slice),
            };
            if loses && cluster == state.cluster() {
                order = &[];
            }
            if loses { step.urgent() } else { step }
        }
    };
    let step = step.stage("mcs_import").trace(Trace::Ends(trace));
    let step = step.on_account_of(&Account::from(cluster.as_str()));
    let step = step.after(order.iter().chain(after.always).copied());
    // What an old view shows is older than what is here.
    if there.is_some_and(|there| generation < there) && state.trust() < Trust::Known {
        return None;
    }
    let written = reference::write(plan, step, generation, there)?;
    if let Some(arrival) = arrival {
        plan.measure_after(written, arrival);
    }
    Some(written)
}

/// Whether a slice here, which shows that its exporter is out of use, shows that of an earlier generation: a process that begins anew
/// would not see it.
fn falls_behind(
    current: &EndpointSlice,
    wanted: &EndpointSlice,
    source: Option<&EndpointSlice>,
) -> bool {
    wanted.endpoints.is_empty()
        && source.is_some_and(|source| !source.endpoints.is_empty())
        && !marks::is_same_generation(current, wanted)
}

/// What to measure once a slice is written: another generation whose endpoints or ports differ
/// (docs/design/contract.md#latency-samples).
fn arrival(
    wanted: &Wanted,
    current: Option<&Object<ManagedSlice>>,
    there: Option<i64>,
) -> Option<Measurement> {
    let (copy, since) = wanted.exported.clone()?;
    let arrives = there.is_none_or(|there| there < wanted.generation)
        && !current.is_some_and(|current| content::carries(&current.slice, &wanted.slice));
    let (origin, first) = (wanted.cluster.clone(), current.is_none());
    let generation = wanted.generation;
    let imported = Imported { origin, since, first, copy, generation };
    arrives.then_some(Measurement::Imported(imported))
}

/// Deletes a slice; traffic to its endpoints fails until then.
pub(super) fn delete(slice: &Object<ManagedSlice>) -> Option<Step> {
    (!slice.is_terminating()).then(|| LOCAL.delete(slice).urgent())
}
