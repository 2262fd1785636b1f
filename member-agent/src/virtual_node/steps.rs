//! Writes of providers as steps.

use fleet_accumulator::{ClusterId, Object, Tracked};
use fleet_model::steps::at;
use fleet_plan::{Action, Step};
use fleet_virtual_node::provider::{Write, WriteAction};

/// The step of a write to `cluster`. `object` is what it changes or deletes; without it there is nothing to do.
pub(super) fn step<T: Tracked>(
    cluster: ClusterId,
    write: Write,
    object: Option<&Object<T>>,
) -> Option<Step> {
    let Write { kind, name, action } = write;
    let action = match action {
        WriteAction::Create(body) => Action::Create(body.into()),
        WriteAction::Apply(body) => Action::Apply { body: body.into(), status: false },
        WriteAction::Patch(operations) => {
            Action::Patch { operations, status: false, at: at(object?) }
        }
        WriteAction::Delete { grace_seconds } => Action::Delete { at: at(object?), grace_seconds },
    };
    Some(Step::new(cluster, kind, name, action))
}
