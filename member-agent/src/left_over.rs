//! What is left of Pods that do not exist any more, counted: what becomes of one depends on how many there are.

use std::collections::{BTreeMap, BTreeSet};

use fleet_accumulator::Object;
use fleet_api::ObjectName;
use fleet_model::objects::offload::{PodDocument, PodExport, PodIndex};
use fleet_virtual_node::life::Fuse;

use crate::settings::VirtualNodes;
use crate::snapshot::MemberSnapshot;

/// Exports for an executor without a Pod, and all exports for it.
pub(crate) fn of_origin(executor: &str, snapshot: &MemberSnapshot) -> (usize, usize) {
    let exports = snapshot.pod_exports.by(&executor.into());
    let live = exports.filter(|export| !export.object.meta.is_terminating());
    count(live.map(|export| lacks_pod(export, snapshot)))
}

/// The same for each executor that there are exports for.
pub(crate) fn by_executor(snapshot: &MemberSnapshot) -> impl Iterator<Item = (usize, usize)> {
    let exports = snapshot.pod_exports.iter();
    let executors: BTreeSet<&str> =
        exports.map(|export| export.object.spec.executor.as_str()).collect();
    executors.into_iter().map(|executor| of_origin(executor, snapshot))
}

/// Whether so much is left over that it is kept for a while, by what this member is for others.
pub(crate) fn open_fuses(
    wanted: &VirtualNodes,
    snapshot: &MemberSnapshot,
) -> BTreeMap<&'static str, bool> {
    let is_much = |(left, all)| Fuse::default().is_much(left, all);
    let origin = wanted.origin.then(|| ("origin", by_executor(snapshot).any(is_much)));
    let executor = wanted.executor.then(|| ("executor", is_much(of_executor(snapshot))));
    origin.into_iter().chain(executor).collect()
}

/// Whether the Pod of an export does not exist.
fn lacks_pod(export: &Object<PodExport>, snapshot: &MemberSnapshot) -> bool {
    let uid = PodIndex::Uid((&*export.name.name).into());
    snapshot.virtual_pods.by(&uid).next().is_none()
}

/// Pods of other members without an import, and all Pods of other members.
pub(crate) fn of_executor(snapshot: &MemberSnapshot) -> (usize, usize) {
    let sources = remote_pods(snapshot).filter_map(|pod| pod.object.origin());
    count(sources.map(|source| lacks_import(source, snapshot)))
}

/// Pods of other members, in namespaces that this agent has made for them: elsewhere anybody can use their labels.
pub(crate) fn remote_pods(snapshot: &MemberSnapshot) -> impl Iterator<Item = &Object<PodDocument>> {
    snapshot.remote_pods.iter().filter(|pod| {
        let space = snapshot.namespaces.get(&ObjectName::cluster(&*pod.name.namespace));
        space.is_some_and(|space| space.object.offload.is_some())
    })
}

fn lacks_import((member, uid): (&str, &str), snapshot: &MemberSnapshot) -> bool {
    snapshot.pod_imports.by(&ObjectName::new(member, uid)).next().is_none()
}

fn count(left: impl Iterator<Item = bool>) -> (usize, usize) {
    left.fold((0, 0), |(left, all), is_left| (left + usize::from(is_left), all + 1))
}
