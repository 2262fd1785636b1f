//! The controller that decides what enters the cluster, and where it binds.

mod admit;
mod choose;
mod content;
mod derived;
mod grace;
mod keys;
mod landing;
mod latency;
mod orphans;
mod refusal;
mod request;
mod slices;
mod standing;
mod status;
mod subject;
mod wish;

#[cfg(test)]
mod tests;

use fleet_accumulator::SourceSet;
use fleet_api::ObjectName;
use fleet_model::steps::LOCAL;
use fleet_runtime::controller::Controller;
use fleet_runtime::plan::{Event, Plan, Sample};
use jiff::Timestamp;

pub use keys::Key;
pub use landing::NoLanding;
pub use orphans::KeptMetrics;
pub use refusal::Refusal;
pub use standing::{Standing, standings};
use subject::Subject;

use crate::Settings;
use crate::membership;
use crate::metrics::ImportMetrics;
use crate::snapshot::MemberSnapshot;

/// Imports Services of the fleet and binds their slices.
#[derive(Debug)]
pub struct ImportController {
    settings: Settings,
    metrics: ImportMetrics,
}

impl ImportController {
    /// The import controller of one member.
    pub fn new(settings: Settings, metrics: ImportMetrics) -> Self {
        Self { settings, metrics }
    }
}

impl Controller for ImportController {
    type Snapshot = MemberSnapshot;
    type Key = Key;

    fn name(&self) -> &'static str {
        "import"
    }

    fn required(&self) -> SourceSet {
        [
            MemberSnapshot::services(),
            MemberSnapshot::endpoint_slices(),
            MemberSnapshot::multi_cluster_services(),
            MemberSnapshot::service_imports(),
            MemberSnapshot::internal_imports(),
            MemberSnapshot::slice_imports(),
            MemberSnapshot::namespaces(),
            MemberSnapshot::memberships(),
        ]
        .into_iter()
        .collect()
    }

    fn dirty(&self, old: &MemberSnapshot, new: &MemberSnapshot, mark: &mut dyn FnMut(Key)) {
        let identity = &self.settings.identity;
        keys::dirty(identity, old, new, mark);
        let moved = subject::in_hub(identity, old) != subject::in_hub(identity, new);
        if moved || membership::phase_changed(identity, old, new) {
            keys::dirty(identity, &MemberSnapshot::default(), new, mark);
        }
    }

    fn plan(&self, key: &Key, snapshot: &MemberSnapshot, now: Timestamp) -> Plan {
        match key {
            Key::Service(service) => plan(&self.settings, service, snapshot, now),
            Key::Wish(name) => wish::plan(&self.settings.identity, name, snapshot, now),
            Key::Stray(kind, name) => keys::stray(*kind, name, snapshot),
        }
    }

    fn held_up(&self, snapshot: &MemberSnapshot, reason: &str) -> Vec<Event> {
        snapshot.multi_cluster_services.iter().map(|wish| LOCAL.held_up(wish, reason)).collect()
    }

    fn refused(&self, key: &Key, snapshot: &MemberSnapshot, reason: &str) -> Vec<Event> {
        let wishes = snapshot.multi_cluster_services.iter();
        let theirs = wishes.filter(|wish| keys::of_wish(wish) == *key);
        theirs.map(|wish| LOCAL.refused(wish, reason)).collect()
    }

    fn acknowledged(&self, sample: &Sample, now: Timestamp) {
        self.metrics.observe(sample, now);
    }
}

/// All writes that the import of one Service still misses.
pub fn plan(
    settings: &Settings,
    service: &ObjectName,
    snapshot: &MemberSnapshot,
    now: Timestamp,
) -> Plan {
    let subject = Subject::of(settings, service, snapshot, now);
    let mut plan = Plan::default();
    let holder = choose::holder(&subject);
    let prepared = holder.map(|holder| wish::prepare(&subject, holder, &mut plan));
    let import = request::sync(&subject, holder, prepared.as_ref(), &mut plan);
    let mut orphaned = slices::orphans(&subject);
    let kept =
        holder.is_some_and(|holder| orphans::keep(&subject, holder, orphaned.len(), &mut plan));
    if kept {
        orphaned.clear();
    }
    if let (Some(holder), Some(prepared)) = (holder, &prepared) {
        derived::sync(&subject, holder, prepared, &import, kept, &mut plan);
    }
    wish::withdraw_others(&subject, holder, &import, &mut plan);
    slices::sync(&subject, holder, prepared.as_ref(), orphaned, &mut plan);
    if subject.refusal == Some(Refusal::Terminating) {
        // Events are created in the namespace of what they are about.
        plan.events.clear();
    }
    plan
}
