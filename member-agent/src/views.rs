//! Views of which it matters for how long they have been complete, by the names under which [`Links`] has them.

use std::time::Duration;

use fleet_accumulator::{Selection, SourceSet, Tracked, View};
use fleet_virtual_node::names;

use crate::Identity;
use crate::fence::record_name;
use crate::links::{Links, Watched};
use crate::snapshot::MemberSnapshot;

/// Exports of Pods on the hub.
pub(crate) const POD_EXPORTS: &str = "pod_exports";
/// Imports of Pods on the hub.
pub(crate) const POD_IMPORTS: &str = "pod_imports";
/// Pods that run for other members.
pub(crate) const REMOTE_PODS: &str = "remote_pods";

/// The incarnation of a hub that serves no ClusterReports: it is always the same.
const NO_REPORTS: &str = "";

/// Sources of which absence counts only after they were followed for a while since a list that followed a failure: the hub may be
/// another one, and which one that is shows a moment later.
pub(crate) fn cautious() -> SourceSet {
    SourceSet::from([MemberSnapshot::pod_exports(), MemberSnapshot::pod_imports()])
}

/// The Pods on the virtual node of an executor.
pub(crate) fn pods_for(executor: &str) -> String {
    Selection::of_node(&names::node(executor)).marker().name.to_string()
}

/// Which hub this is, and since which restart of its history, as it has answered; `None` while it has not.
pub(crate) fn hub<'a>(identity: &Identity, snapshot: &'a MemberSnapshot) -> Option<&'a str> {
    let reports = &snapshot.cluster_reports;
    if reports.state().cannot_be_had() {
        return Some(NO_REPORTS);
    }
    let report = reports.get(&record_name(identity)).filter(|report| !report.terminating)?;
    report.incarnation.as_deref()
}

/// Those of the views that are complete at the moment.
pub(crate) fn complete(identity: &Identity, snapshot: &MemberSnapshot) -> Vec<Watched> {
    let is_known = hub(identity, snapshot).is_some();
    let of_hub = |view: Option<Watched>| {
        view.map(|view| Watched { of_hub: true, is_firm: view.is_firm && is_known, ..view })
    };
    let whole = [
        of_hub(of(POD_EXPORTS, &snapshot.pod_exports)),
        of_hub(of(POD_IMPORTS, &snapshot.pod_imports)),
        of(REMOTE_PODS, &snapshot.remote_pods),
    ];
    // A selection is read and followed while its mark is there.
    let pods = &snapshot.virtual_pods;
    let marks = pods.in_namespace("").filter(|_| pods.state().is_live());
    let marks = marks.map(|mark| Watched {
        name: mark.name.name.to_string(),
        listed: pods.listed(),
        of_hub: false,
        is_firm: pods.is_settled(),
    });
    whole.into_iter().flatten().chain(marks).collect()
}

/// For how long what a view lacks has counted, as [`Links::complete`] has it. That it does not count any more shows at once.
pub(crate) fn complete_for(
    name: &str,
    links: &Links,
    identity: &Identity,
    snapshot: &MemberSnapshot,
) -> Option<Duration> {
    let known = links.complete(name)?;
    let view = complete(identity, snapshot).into_iter().find(|view| view.name == name);
    Some(if view.is_some_and(|view| view.is_firm) { known } else { Duration::ZERO })
}

/// Whether a view is complete and not known as such yet: a task takes note of that a moment later, which is no change that a plan
/// would be made for.
pub(crate) fn is_about_to_be_known(
    name: &str,
    known: Option<Duration>,
    identity: &Identity,
    snapshot: &MemberSnapshot,
) -> bool {
    known.is_none() && complete(identity, snapshot).iter().any(|view| view.name == name)
}

fn of<T: Tracked>(name: &str, view: &View<T>) -> Option<Watched> {
    let complete = view.bootstrapped() && view.state().is_live();
    complete.then(|| Watched {
        name: name.to_owned(),
        listed: view.listed(),
        of_hub: false,
        is_firm: view.is_settled(),
    })
}
