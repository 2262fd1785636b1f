//! The slices of an import: one for each exported slice of another cluster, and one for each slice of this cluster's own.

mod bound;
mod content;
mod foreign;
mod marks;
mod outcome;
mod own;

use fleet_accumulator::Object;
use fleet_model::objects::ManagedSlice;
use fleet_model::reference;
use fleet_model::steps::{LOCAL, at, to_json};
use fleet_plan::{Account, Action, Step, StepId, Trace};
use k8s_openapi::api::discovery::v1::EndpointSlice;

use bound::Wanted;
pub(super) use bound::{Binding, Bound};
use outcome::Outcome;

use super::source;
use super::state::ServiceState;
use super::target::Target;
use super::trust::{SliceFate, Source, slice_fate};
use crate::measurement::Plan;

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
    for slice in &state.imported {
        if !outcome.has(&slice.name.name) && goes(state, bound, slice, &outcome) {
            plan.steps.extend(delete(slice));
        }
    }
    let current = |name: &str| state.imported.iter().copied().find(|it| *it.name.name == *name);
    let wanted = outcome.wanted.into_iter();
    let writes = wanted
        .filter_map(|(name, wanted)| write(state, &name, wanted, current(&name), after, plan));
    writes.collect()
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
    let listed = is_listed(state, bound.target, cluster);
    let fate = slice_fate(bound.trust(state), listed, Source::Absent, state.may_remove(cluster));
    fate == SliceFate::Remove
}

/// Whether the hub lists a cluster among the exporters.
fn is_listed(state: &ServiceState<'_>, target: &Target, cluster: &str) -> bool {
    let exporter = state.resolved.and_then(|resolved| resolved.exporter(cluster));
    exporter.is_some() && target.clusters.iter().any(|name| name == cluster)
}

fn write(
    state: &ServiceState<'_>,
    name: &str,
    wanted: Wanted,
    current: Option<&Object<ManagedSlice>>,
    after: &[StepId],
    plan: &mut Plan,
) -> Option<StepId> {
    let Wanted { slice, cluster, generation, trace } = wanted;
    let step = match current {
        None => {
            let body = to_json(&slice);
            LOCAL.create::<ManagedSlice>(state.beside(name), body)
        }
        Some(current) if current.is_terminating() => return None,
        Some(current) if content::is_current(&current.slice, &slice) => return None,
        // The address type is immutable, so the slice is replaced by another object.
        Some(current) if current.slice.address_type != slice.address_type => {
            plan.steps.extend(delete(current));
            return None;
        }
        Some(current) => {
            let step = replace(current, &slice);
            if content::loses(&current.slice, &slice) { step.urgent() } else { step }
        }
    };
    let there = current.and_then(|current| marks::generation(&current.slice, &slice));
    let step = step.stage("mcs_import").trace(Trace::Ends(trace));
    let step = step.on_account_of(&Account::from(cluster.as_str()));
    let step = step.after(after.iter().copied());
    reference::write(plan, step, generation, there)
}

/// Writes the whole slice: nothing of it is anybody else's.
fn replace(current: &Object<ManagedSlice>, slice: &EndpointSlice) -> Step {
    let mut body = to_json(slice);
    body["apiVersion"] = serde_json::json!("discovery.k8s.io/v1");
    body["kind"] = serde_json::json!("EndpointSlice");
    body["metadata"]["name"] = serde_json::json!(current.name.name);
    body["metadata"]["namespace"] = serde_json::json!(current.name.namespace);
    let action = Action::Replace { body: body.into(), at: at(current) };
    LOCAL.step::<ManagedSlice>(current.name.clone(), action)
}

/// Deletes a slice; traffic to its endpoints fails until then.
pub(super) fn delete(slice: &Object<ManagedSlice>) -> Option<Step> {
    (!slice.is_terminating()).then(|| LOCAL.delete(slice).urgent())
}
