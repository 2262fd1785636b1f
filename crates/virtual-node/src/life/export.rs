//! What a Pod's export should be.

use fleet_api::conditions::offload_reasons as reasons;
use fleet_api::events;
use fleet_api::offload::PodExportSpec;
use jiff::Timestamp;

use super::decision::{Action, Decision, Notice};
use super::observed::Observed;
use crate::config::{ConfigProblem, fill};
use crate::pod::{LocalPod, Rejection, identity, translate, with_contents};
use crate::status::{pending, rejected};

/// The export of a Pod as it should be, or what is in its way.
pub(super) fn wanted(
    observed: &Observed<'_>,
    pod: &LocalPod,
    now: Timestamp,
) -> Result<PodExportSpec, Decision> {
    let node = observed.node;
    let export = translate(pod, &node.cluster, &node.executor, &node.terms, node.dns.as_ref());
    let filled =
        export.map_err(ConfigProblem::Rejected).and_then(|export| fill(export, observed.config));
    filled.map_err(|problem| match problem {
        ConfigProblem::Rejected(rejection) => refused(pod, &rejection, now),
        ConfigProblem::Missing(reference) => {
            let (kind, name) = (reference.kind.as_str(), reference.name);
            waiting(pod, &format!("{kind} {name} does not exist"), now)
        }
    })
}

/// The export by which the executor of a Pod that has started is asked to stop it, where the hub has none. Contents that are missing
/// by now are not needed for that; and nothing but its identity is where it does not cross any more, as on a hub that has no terms yet.
pub(super) fn to_be_stopped(
    observed: &Observed<'_>,
    pod: &LocalPod,
    grace_seconds: i64,
) -> PodExportSpec {
    let node = observed.node;
    let whole = translate(pod, &node.cluster, &node.executor, &node.terms, node.dns.as_ref()).ok();
    let without_contents = |export: &PodExportSpec| with_contents(export.clone(), Vec::new());
    let whole = whole.and_then(|export| {
        fill(export.clone(), observed.config).or_else(|_| without_contents(&export)).ok()
    });
    let stop_grace_seconds = Some(grace_seconds.max(0));
    let export = whole.unwrap_or_else(|| identity(pod, &node.cluster, &node.executor));
    PodExportSpec { stop_grace_seconds, ..export }
}

/// A Pod that does not cross stays as it is until it, or what its executor accepts, changes.
pub(super) fn refused(pod: &LocalPod, rejection: &Rejection, now: Timestamp) -> Decision {
    let status = rejected(pod, rejection, now).map(|status| Action::Status(Box::new(status)));
    let refused = Some(rejection.clone());
    Decision { refused, ..Decision::of(status.into_iter().chain([not_taken(rejection)])) }
}

/// Reports to users what is refused.
pub(super) fn not_taken(rejection: &Rejection) -> Action {
    notice(events::REJECTED_BY_POLICY, rejection.message())
}

/// A Pod that waits for a config map or Secret: its appearance is a change, and the Pod is decided again.
fn waiting(pod: &LocalPod, message: &str, now: Timestamp) -> Decision {
    let status = pending(pod, reasons::WAITING_FOR_CONFIG, message, now);
    let status = status.map(|status| Action::Status(Box::new(status)));
    let notice = notice(events::WAITING_FOR_CONFIG, message.to_owned());
    Decision::of(status.into_iter().chain([notice]))
}

fn notice(reason: &'static str, message: String) -> Action {
    Action::Notify(Notice { reason, warning: true, message })
}
