//! The Services that a change affects.

use fleet_accumulator::{Change, Object, Snapshot as _, SourceId, diff};
use fleet_api::ObjectName;
use fleet_api::labels::{MANAGED_BY_EXTERNAL_WORKLOADS, MANAGED_BY_LINKERD};
use fleet_model::changes::each_touched;
use fleet_model::objects::ExternalWorkload;
use fleet_model::selection;
use fleet_plan::Affected;

use super::linkerd;
use crate::slicing;
use crate::snapshot::MemberSnapshot;

/// Changes of Services in this namespace affect no key; those of workloads and slices do.
const KUBE_SYSTEM: &str = "kube-system";

/// Adds the Services that own what changed, before and after the change.
pub(super) fn affected(
    old: &MemberSnapshot,
    new: &MemberSnapshot,
    keys: &mut Affected<ObjectName>,
) {
    let recovered = |id: SourceId| !old.state(id).is_live() && new.state(id).is_live();
    let everything = recovered(MemberSnapshot::external_workloads())
        || recovered(MemberSnapshot::services())
        || linkerd::is_active(old) != linkerd::is_active(new);
    let nothing = MemberSnapshot::default();
    let old = if everything { &nothing } else { old };
    each_touched(&old.services, &new.services, |service| {
        if &*service.name.namespace != KUBE_SYSTEM {
            keys.add_own(service.name.clone());
        }
    });
    for change in diff(&old.external_workloads, &new.external_workloads) {
        each_member(&change, new, keys);
    }
    each_touched(&old.managed_slices, &new.managed_slices, |slice| {
        let managed = slice.managed(&slice.name.namespace);
        if let Some(managed) =
            managed.filter(|managed| &*managed.manager == MANAGED_BY_EXTERNAL_WORKLOADS)
        {
            keys.add_own(managed.service);
        }
    });
    each_touched(&old.endpoint_slices, &new.endpoint_slices, |slice| {
        let ours = matches!(
            slicing::manager(slice),
            Some(MANAGED_BY_EXTERNAL_WORKLOADS | MANAGED_BY_LINKERD)
        );
        if let Some(service) = slice.backs(&slice.name.namespace).filter(|_| ours) {
            keys.add_own(service);
        }
    });
}

/// Adds the Services that select a workload. One that selected it before and still does has to
/// look only if more than labels changed.
fn each_member(
    change: &Change<'_, ExternalWorkload>,
    snapshot: &MemberSnapshot,
    keys: &mut Affected<ObjectName>,
) {
    let (old, new) = (change.old(), change.new());
    let stays_same = match (old, new) {
        (Some(old), Some(new)) => old.uid == new.uid && same_endpoint(old, new),
        _ => false,
    };
    let selects = |workload: Option<&Object<ExternalWorkload>>, selector| {
        workload.is_some_and(|workload| selection::selects(selector, &workload.labels))
    };
    for workload in old.into_iter().chain(new) {
        let namespace = &workload.name.namespace;
        for service in selection::services(&snapshot.services, namespace, &workload.labels) {
            let stays = selects(old, &service.selector) && selects(new, &service.selector);
            if !(stays && stays_same) {
                keys.add_own(service.name.clone());
            }
        }
    }
}

/// Whether the endpoint is the same. The zone is a label, but part of the endpoint.
fn same_endpoint(old: &ExternalWorkload, new: &ExternalWorkload) -> bool {
    (old.ready, &old.ips, &old.ports, old.zone()) == (new.ready, &new.ips, &new.ports, new.zone())
}
