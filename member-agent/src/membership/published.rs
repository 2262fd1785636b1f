//! The mark on the hub that all that this member exports through the standard API is there.
//!
//! After a loss of the hub's data, importers take what is missing there for withdrawn only once its exporter has set the mark.

use std::collections::BTreeSet;
use std::time::Duration;

use fleet_accumulator::{Object, Snapshot as _, SourceInfo, SourceSet};
use fleet_api::names::internal_export_candidates;
use fleet_api::{ObjectName, conditions, kinds, labels};
use fleet_model::hub_schema::{HubSchema, carries};
use fleet_model::objects::multicluster::standard;
use fleet_model::objects::{ClusterReport, SliceIndex};
use fleet_model::steps::HUB;
use fleet_plan::Step;
use fleet_plan::conditions::is;
use fleet_plan::json_patch::{add, remove};
use serde_json::json;

use crate::fence::record_name;
use crate::hub_answers::{HubAnswers, Refused};
use crate::hub_side::{Claim, HubSide};
use crate::intent::{self, Hold, Intent};
use crate::measurement::Plan;
use crate::phase::Phase;
use crate::settings::MulticlusterMode;
use crate::slicing;
use crate::snapshot::MemberSnapshot;
use crate::{Identity, Settings};

/// How often the agent looks whether all is there. A look walks the exports up to the first one that is missing: with one at each
/// change, the start of a member would cost the square of their number.
const LOOK: Duration = Duration::from_secs(1);

/// Sets the mark once everything has been there, and all watches have been live, for a while without a break; removes it when
/// the member no longer takes part.
pub(super) fn mark(
    settings: &Settings,
    answers: &HubAnswers,
    snapshot: &MemberSnapshot,
    plan: &mut Plan,
) {
    let Some(hub) = HubSide::of(snapshot) else { return };
    let name = record_name(&settings.identity);
    let Some(report) = snapshot.cluster_reports.get(&name).filter(|report| !report.terminating)
    else {
        return;
    };
    if !takes_part(settings, snapshot) {
        if settings.multicluster.is_watched() && report.published_to.is_some() {
            plan.push(write(report, None));
        }
        return;
    }
    let Claim::Accepted(incarnation) = hub.claim(&settings.identity) else { return };
    if report.published_to.as_deref() == Some(incarnation) {
        return;
    }
    plan.wake_within(LOOK);
    let refused = answers.of(Some(incarnation));
    if are_trusted(snapshot) && is_complete(settings, &refused, hub, snapshot) {
        let step = write(report, Some(incarnation));
        plan.debounce(settings.multicluster.settle, "all exports are on the hub", step);
    }
}

/// Whether the hub accepts the member, and whether it has the mark.
pub fn standing(identity: &Identity, snapshot: &MemberSnapshot) -> (bool, bool) {
    let hub = HubSide::of(snapshot);
    let claim = hub.map_or(Claim::Unanswered, |hub| hub.claim(identity));
    let Claim::Accepted(incarnation) = claim else { return (false, false) };
    let report = snapshot.cluster_reports.get(&record_name(identity));
    let published = report.and_then(|report| report.published_to.as_deref());
    (true, published == Some(incarnation))
}

/// Whether the hub has all that is exported through the standard API; also where the member takes no part in it.
pub fn is_published(settings: &Settings, snapshot: &MemberSnapshot) -> bool {
    !takes_part(settings, snapshot) || standing(&settings.identity, snapshot).1
}

/// Whether the member takes part in the standard API.
pub(super) fn takes_part(settings: &Settings, snapshot: &MemberSnapshot) -> bool {
    settings.multicluster.mode == MulticlusterMode::On
        && Phase::of(&settings.identity, snapshot).is_member()
}

/// Changes nothing else: administrators may have labelled the object.
fn write(report: &Object<ClusterReport>, published_to: Option<&str>) -> Step {
    let path = ["spec", "publishedTo"];
    let operation = match published_to {
        Some(hub) => add(&path, json!(hub)),
        None => remove(&path),
    };
    HUB.patch(report, vec![operation])
}

/// Whether all watches show what there is.
fn are_trusted(snapshot: &MemberSnapshot) -> bool {
    let sources = SourceSet::from([
        MemberSnapshot::services(),
        MemberSnapshot::namespaces(),
        MemberSnapshot::endpoint_slices(),
        MemberSnapshot::standard_exports(),
        MemberSnapshot::standard_imports(),
        MemberSnapshot::slice_exports(),
        MemberSnapshot::exported_services(),
        MemberSnapshot::resolved_services(),
        MemberSnapshot::cluster_reports(),
    ]);
    let asked = |source: &&SourceInfo| sources.contains(source.id);
    let mut asked = MemberSnapshot::sources().iter().filter(asked);
    asked.all(|source| snapshot.state(source.id).is_live()) && !snapshot.is_settling(sources)
}

/// Whether the hub has all that is to be exported. What it refuses counts as there: it has decided.
fn is_complete(
    settings: &Settings,
    refused: &Refused,
    hub: HubSide<'_>,
    snapshot: &MemberSnapshot,
) -> bool {
    snapshot.standard_exports.iter().all(|export| {
        export.meta.is_terminating()
            || intent::foreign_import(&export.name, snapshot).is_some()
            || is_there(settings, export, refused, hub, snapshot)
    })
}

fn is_there(
    settings: &Settings,
    export: &Object<standard::ServiceExport>,
    refused: &Refused,
    hub: HubSide<'_>,
    snapshot: &MemberSnapshot,
) -> bool {
    let intent = Intent::of(settings, &export.name, snapshot);
    let current = intent::current(hub, &export.name);
    if matches!(intent, Intent::Hold(_, Hold::NoAddress | Hold::Unclaimed)) {
        return false;
    }
    if intent.exported(export, current.map(|current| &*current.object)).is_none() {
        return true;
    }
    let Some(current) = current else {
        let names = internal_export_candidates(&export.name);
        let names = names.map(|name| ObjectName::new(&*settings.identity.hub_namespace, name));
        return refused.any(kinds::EXPORTED_SERVICE, names);
    };
    is(&current.conditions, conditions::READY, conditions::FALSE)
        || (intent::is_listed(settings, hub, &export.name)
            && are_slices_there(settings, export, refused, snapshot))
}

fn are_slices_there(
    settings: &Settings,
    export: &Object<standard::ServiceExport>,
    refused: &Refused,
    snapshot: &MemberSnapshot,
) -> bool {
    let schema = HubSchema::known(&snapshot.schema);
    let on_network = slicing::is_on_network(settings, snapshot.services.get(&export.name));
    let slices = snapshot.endpoint_slices.by(&SliceIndex::Backs(export.name.clone()));
    let mut exportable = slices.filter(|slice| {
        slicing::is_exportable(settings, slice, on_network)
            && carries(schema, &slice.address_type) != Some(false)
    });
    let copies = snapshot.slice_exports.by(&export.name);
    let copies = copies.filter(|copy| copy.meta.label(labels::MULTICLUSTER_NAMESPACE).is_some());
    let there: BTreeSet<&str> =
        copies.map(|copy| copy.spec.endpoint_slice_reference.uid.as_str()).collect();
    exportable.all(|slice| {
        let names = || slicing::names_on_hub(&settings.identity, slice);
        there.contains(slice.uid.to_string().as_str())
            || refused.any(kinds::ENDPOINT_SLICE_EXPORT, names())
    })
}
