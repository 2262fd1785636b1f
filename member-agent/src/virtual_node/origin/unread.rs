//! What becomes of a Pod while something that it refers to was not read: what is not known is not taken for missing.

use std::time::Duration;

use fleet_accumulator::{Object, Selection, SourceState, Tracked, View};
use fleet_api::ObjectName;
use fleet_api::conditions::offload_reasons::WAITING_FOR_CONFIG;
use fleet_api::offload::ConfigKind;
use fleet_model::objects::offload::PodDocument;
use fleet_virtual_node::life::{Action, Decision, NodeState};
use fleet_virtual_node::pod::{ConfigReference, LocalPod, references_to_read};
use fleet_virtual_node::status::pending;
use jiff::Timestamp;

use crate::Identity;
use crate::selections::is_wanted;
use crate::snapshot::MemberSnapshot;

/// Time in which what a new Pod refers to is read, unless more is referred to than is read, or the right is missing.
const PATIENCE: Duration = Duration::from_mins(1);

/// A config map or Secret that a Pod refers to, and of which it is not known whether it exists. One that is being deleted needs none.
pub(super) fn unread(
    pod: &LocalPod,
    node: &NodeState,
    snapshot: &MemberSnapshot,
) -> Option<ConfigReference> {
    if pod.deletion.is_some() {
        return None;
    }
    references_to_read(&pod.spec).into_keys().find(|reference| {
        let name = ObjectName::new(pod.namespace.as_str(), reference.name.as_str());
        match reference.kind {
            ConfigKind::ConfigMap => !was_read(&snapshot.offload_config_maps, &name),
            ConfigKind::Secret => {
                let listed = node.terms.secrets.contains(&name.to_string());
                // Without the right to read any, it is reported as missing.
                let secrets = &snapshot.offload_secrets;
                let readable = !matches!(secrets.state(), SourceState::Forbidden { .. });
                listed && readable && !was_read(secrets, &name)
            }
        }
    })
}

/// Whether it is known if an object exists.
fn was_read<T: Tracked>(view: &View<T>, name: &ObjectName) -> bool {
    view.get(&Selection::named(name).marker()).is_some()
}

/// Whether what a Pod refers to is about to be read for the first time.
pub(super) fn is_soon_read(
    identity: &Identity,
    pod: &Object<PodDocument>,
    snapshot: &MemberSnapshot,
    now: Timestamp,
) -> bool {
    let age = |created: Timestamp| Duration::try_from(now.duration_since(created));
    let is_old = |created| age(created).is_ok_and(|age| age >= PATIENCE);
    is_wanted(identity, pod, snapshot) && !pod.object.meta.created.is_some_and(is_old)
}

/// The decision about a Pod without what would be sent: without a part of its content it would start, or change, in another way.
pub(super) fn without_sending(
    decision: Decision,
    pod: &LocalPod,
    unread: &ConfigReference,
    now: Timestamp,
) -> Decision {
    if decision.actions.iter().any(|action| matches!(action, Action::Export(_))) {
        let message = format!(
            "{} {} cannot be read, or Pods on virtual nodes refer to more than is read",
            unread.kind.as_str(),
            unread.name
        );
        let status = pending(pod, WAITING_FOR_CONFIG, &message, now);
        let actions = status.map(|status| Action::Status(Box::new(status)));
        return Decision { actions: actions.into_iter().collect(), ..Decision::default() };
    }
    let mut decision = decision;
    decision.actions.retain(|action| !matches!(action, Action::Update(_)));
    decision
}
