//! Which ports a Service has in the fleet, and which exports have them.

use std::collections::{BTreeMap, BTreeSet};

use fleet_api::{
    ClusterStatus, ServiceImportStatus, ServiceImportType, ServicePort, annotations, finalizers,
};
use fleet_model::ports;
use fleet_model::precedence::Precedence;

use super::state::{Export, ServiceState};

/// The ports in force, and the exports that have them.
#[derive(Debug)]
pub struct PortResolution<'a> {
    /// Ports in force.
    pub ports: &'a [ServicePort],
    /// The oldest export with these ports.
    pub winner: Export<'a>,
    /// Exports with these ports, whatever their target ports, oldest first.
    pub accepted: Vec<Export<'a>>,
    /// The accepted exports that the status lists.
    pub listed: Vec<Export<'a>>,
    /// Whether they are listed only once they have the hub's finalizer, because none has it yet.
    pub waits_for_guards: bool,
    /// Exports with other ports.
    pub conflicting: Vec<Export<'a>>,
    /// Of these, those whose ports were in force until their members were silent.
    pub yielding: Vec<Export<'a>>,
    /// Desired status of the ServiceImport.
    pub status: ServiceImportStatus,
}

/// Compares the exports of a Service; `None` if no member exports it.
///
/// The ports in force stay while an export has them that does not yield for the silence of its member; otherwise the oldest export
/// decides (docs/design/rules.md#conflicts). Target ports alone are no conflict; those in force are of one accepted export.
/// Exports that are being deleted do not count.
pub fn resolve<'a>(state: &ServiceState<'a>) -> Option<PortResolution<'a>> {
    let in_force = state.import.map(|import| import.object.status.ports.as_slice());
    let in_force = in_force.filter(|ports| !ports.is_empty());
    let fits = |export: &Export<'a>, wanted| ports::same_for_clients(of(export), wanted);
    let yields = yields(state);
    let holds = |export: Export<'a>, ports| fits(&export, ports) && !yields(&export);
    let kept = in_force.filter(|ports| state.live_exports().any(|export| holds(export, ports)));
    let oldest = oldest(state)?;
    let wanted = kept.or_else(|| before(state)).unwrap_or_else(|| of(&oldest));
    let (accepted, conflicting): (Vec<_>, Vec<_>) =
        state.live_exports().partition(|export| fits(export, wanted));
    let winner = *accepted.first()?;
    let stay = kept.filter(|ports| accepted.iter().any(|export| ports::same(of(export), ports)));
    let ports = stay.unwrap_or_else(|| of(&winner));
    let mut listed = listable(state, &accepted);
    let waits_for_guards = listed.is_empty();
    if waits_for_guards {
        listed.clone_from(&accepted);
    }
    let status = import_status(state, ports, &listed);
    let lost = |export: &&Export<'a>| in_force.is_some_and(|ports| fits(export, ports));
    let yielding = conflicting.iter().filter(lost).copied().collect();
    Some(PortResolution {
        ports,
        winner,
        accepted,
        listed,
        waits_for_guards,
        conflicting,
        yielding,
        status,
    })
}

/// Whether the ports of an export yield for the silence of its member: to exports of which that is not so.
fn yields<'a>(state: &ServiceState<'a>) -> impl Fn(&Export<'a>) -> bool {
    let precedence = |export: &Export<'a>| state.precedence(export);
    let any_by_age = state.live_exports().any(|export| precedence(&export).is_by_age());
    move |export| any_by_age && precedence(export) == Precedence::Yields
}

/// The export whose ports come into force where none stay: one whose age counts comes first.
fn oldest<'a>(state: &ServiceState<'a>) -> Option<Export<'a>> {
    state.live_exports().min_by_key(|export| !state.precedence(export).is_by_age())
}

/// The ports that were in force on the hub that is being rebuilt, as the oldest export of those remembers that had them.
fn before<'a>(state: &ServiceState<'a>) -> Option<&'a [ServicePort]> {
    let mut exports = state.live_exports().filter(|_| state.is_being_rebuilt);
    exports.find(|export| was_accepted(export) == Some(true)).map(|export| of(&export))
}

/// Whether it cannot be decided yet which ports a Service had before the hub was rebuilt: exports differ, or lacked them before, and
/// none that had them has come back.
pub(super) fn waits_for_exporters(state: &ServiceState<'_>) -> bool {
    let has_ports = state.import.is_some_and(|import| !import.object.status.ports.is_empty());
    if !state.is_being_rebuilt || has_ports || before(state).is_some() {
        return false;
    }
    let mut exports = state.live_exports();
    let Some(first) = exports.next() else { return false };
    let is_doubtful = |export: &Export<'_>| was_accepted(export) == Some(false);
    is_doubtful(&first)
        || exports
            .any(|export| is_doubtful(&export) || !ports::same_for_clients(of(&export), of(&first)))
}

/// Whether the export was accepted before; `None` if its member does not remember that.
fn was_accepted(export: &Export<'_>) -> Option<bool> {
    export.object.meta.annotation(annotations::ACCEPTED_BEFORE)?.parse().ok()
}

fn of<'a>(export: &Export<'a>) -> &'a [ServicePort] {
    &export.object.object.ports
}

/// The exports that can be listed at once. One that lacks the hub's finalizer is listed when it has it, so that the others
/// do not wait for that. What is listed stays: a user may have removed the finalizer.
fn listable<'a>(state: &ServiceState<'a>, accepted: &[Export<'a>]) -> Vec<Export<'a>> {
    let before = state.import.map(|import| import.object.status.clusters.as_slice());
    let before: BTreeSet<_> =
        before.unwrap_or_default().iter().map(|listed| listed.cluster.as_str()).collect();
    let ready = |export: &&Export<'a>| {
        export.object.meta.has_finalizer(finalizers::INTERNAL_SERVICE_EXPORT)
            || before.contains(export.member)
    };
    accepted.iter().filter(ready).copied().collect()
}

/// Clusters that the status lists already keep their positions, as with the Go hub: taking over from a
/// Go hub writes nothing.
fn import_status(
    state: &ServiceState<'_>,
    ports: &[ServicePort],
    exports: &[Export<'_>],
) -> ServiceImportStatus {
    let listed = state.import.map(|import| import.object.status.clusters.as_slice());
    let listed = listed.unwrap_or_default().iter().map(|listed| listed.cluster.as_str());
    let positions: BTreeMap<_, _> = listed.zip(0_usize..).collect();
    let mut clusters: Vec<_> = exports.iter().map(|export| export.member).collect();
    clusters.sort_by_cached_key(|member| {
        (positions.get(member).copied().unwrap_or(usize::MAX), *member)
    });
    let clusters =
        clusters.into_iter().map(|cluster| ClusterStatus { cluster: cluster.to_owned() });
    ServiceImportStatus {
        type_: Some(ServiceImportType::ClusterSetIP),
        ports: ports.to_vec(),
        clusters: clusters.collect(),
        ..ServiceImportStatus::default()
    }
}
