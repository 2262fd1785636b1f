//! The controller that decides what of the local Services leaves the cluster.

mod internal;
mod keys;
mod slices;
mod stamp;
mod status;
mod subject;
mod wish;

#[cfg(test)]
mod tests;

use fleet_accumulator::SourceSet;
use fleet_api::{ObjectName, finalizers};
use fleet_model::steps::{LOCAL, add_finalizer, remove_finalizer};
use fleet_runtime::controller::Controller;
use fleet_runtime::plan::{Event, Plan, Sample, StepId};
use jiff::Timestamp;

pub use keys::Key;
use subject::Subject;
pub use wish::Wish;

use crate::Settings;
use crate::endpointslices;
use crate::membership::{self, Phase};
use crate::metrics::ExportMetrics;
use crate::snapshot::MemberSnapshot;

/// Exports Services and their slices to the hub.
#[derive(Debug)]
pub struct ExportController {
    settings: Settings,
    metrics: ExportMetrics,
}

impl ExportController {
    /// The export controller of one member.
    pub fn new(settings: Settings, metrics: ExportMetrics) -> Self {
        Self { settings, metrics }
    }
}

impl Controller for ExportController {
    type Snapshot = MemberSnapshot;
    type Key = Key;

    fn name(&self) -> &'static str {
        "export"
    }

    fn required(&self) -> SourceSet {
        let pods = self.settings.endpointslices.serves_networks();
        let pods = if pods { SourceSet::from([MemberSnapshot::pods()]) } else { SourceSet::EMPTY };
        SourceSet::from([
            MemberSnapshot::services(),
            MemberSnapshot::service_exports(),
            MemberSnapshot::endpoint_slices(),
            MemberSnapshot::internal_exports(),
            MemberSnapshot::slice_exports(),
            MemberSnapshot::memberships(),
        ])
        .union(pods)
    }

    fn dirty(&self, old: &MemberSnapshot, new: &MemberSnapshot, mark: &mut dyn FnMut(Key)) {
        keys::dirty(old, new, mark);
        if self.settings.endpointslices.serves_networks() {
            endpointslices::each_on_network(old, new, &mut |name| mark(Key::Service(name)));
        }
        if membership::phase_changed(&self.settings.identity, old, new) {
            keys::dirty(&MemberSnapshot::default(), new, mark);
        }
    }

    fn plan(&self, key: &Key, snapshot: &MemberSnapshot, now: Timestamp) -> Plan {
        match key {
            Key::Service(service) => plan(&self.settings, service, snapshot, now),
            Key::Stray(kind, name) => keys::stray(*kind, name, snapshot),
        }
    }

    fn held_up(&self, snapshot: &MemberSnapshot, reason: &str) -> Vec<Event> {
        snapshot.service_exports.iter().map(|wish| LOCAL.held_up(wish, reason)).collect()
    }

    fn refused(&self, key: &Key, snapshot: &MemberSnapshot, reason: &str) -> Vec<Event> {
        let Key::Service(service) = key else { return Vec::new() };
        let export = snapshot.service_exports.get(service);
        export.map(|export| LOCAL.refused(export, reason)).into_iter().collect()
    }

    fn acknowledged(&self, sample: &Sample, now: Timestamp) {
        self.metrics.observe(sample, now);
    }
}

/// What the ServiceExport of a name comes to; `None` where there is none, or one that is being deleted.
pub fn wish<'a>(
    settings: &'a Settings,
    service: &'a ObjectName,
    snapshot: &'a MemberSnapshot,
    now: Timestamp,
) -> Option<Wish<'a>> {
    let subject = Subject::of(settings, service, snapshot, now);
    let export = subject.export.filter(|export| !export.meta.is_terminating())?;
    Some(subject.wish(export))
}

/// All writes that the export of one Service still misses.
pub fn plan(
    settings: &Settings,
    service: &ObjectName,
    snapshot: &MemberSnapshot,
    now: Timestamp,
) -> Plan {
    let subject = Subject::of(settings, service, snapshot, now);
    let mut plan = Plan::default();
    match subject.export {
        None => {
            withdraw(&subject, &mut plan);
        }
        Some(export) if export.meta.is_terminating() => unexport(&subject, &mut plan),
        // As the original does; what the user makes after that waits for the next join.
        Some(export) if subject.phase == Phase::Leaving => {
            withdraw(&subject, &mut plan);
            plan.push(LOCAL.delete(export));
        }
        Some(_) if subject.exported().is_some() => self::export(&subject, &mut plan),
        // One write to the ServiceExport at a time: the user reads why before it is let go.
        Some(export) => {
            if status::write(&subject, export, None, &mut plan) {
                withdraw(&subject, &mut plan);
            } else {
                unexport(&subject, &mut plan);
            }
        }
    }
    plan
}

/// Finalizer, then the Service, then (once the hub agrees) its slices.
fn export(subject: &Subject<'_>, plan: &mut Plan) {
    let Some(export) = subject.export else { return };
    let operations = add_finalizer(&export.meta, finalizers::SERVICE_EXPORT);
    let guarded = (!operations.is_empty()).then(|| plan.push(LOCAL.patch(export, operations)));
    let verdict = internal::sync(subject, guarded, plan);
    slices::sync(subject, verdict, plan);
    if guarded.is_none() {
        status::write(subject, export, internal::conflict(subject), plan);
    }
}

/// Everything of this Service leaves the hub, then the finalizer leaves the export.
fn unexport(subject: &Subject<'_>, plan: &mut Plan) {
    let withdrawn = withdraw(subject, plan);
    let Some(export) = subject.export else { return };
    let operations = remove_finalizer(&export.meta, finalizers::SERVICE_EXPORT);
    if operations.is_empty() {
        return;
    }
    let mut undone = withdrawn;
    if subject.internal_exports.is_empty() {
        undone.extend(internal::confirm_absent(subject, plan));
    }
    plan.push(LOCAL.patch(export, operations).after(undone));
}

/// Deletes what this Service has on the hub.
fn withdraw(subject: &Subject<'_>, plan: &mut Plan) -> Vec<StepId> {
    let mut deleted = slices::withdraw(subject, plan);
    deleted.extend(internal::withdraw(subject, plan));
    deleted
}
