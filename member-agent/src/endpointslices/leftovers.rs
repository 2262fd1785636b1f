//! Slices of networks, left by an agent that made them before it was told not to.
//!
//! Nobody keeps them right any more. Nothing uses them either: traffic of this cluster does not find them, and they are
//! exported only while they are made. They are found by the watch of all slices that exporting needs anyway, so that
//! being off costs nothing; deleting them takes the rights that making them took.

use fleet_accumulator::{Object, SourceSet};
use fleet_api::{ObjectName, labels};
use fleet_model::changes::each_touched;
use fleet_model::objects::EndpointSlice;
use fleet_model::steps::LOCAL;
use fleet_plan::{Affected, Controller, Plan};
use jiff::Timestamp;

use super::NAME;
use crate::slicing;
use crate::snapshot::MemberSnapshot;

/// Takes the slices of networks away where none are to be.
#[derive(Debug)]
pub struct LeftoverController;

impl Controller for LeftoverController {
    type Snapshot = MemberSnapshot;
    /// A slice.
    type Key = ObjectName;

    fn name(&self) -> &'static str {
        NAME
    }

    fn required(&self) -> SourceSet {
        SourceSet::from([MemberSnapshot::endpoint_slices()])
    }

    fn affected_keys(
        &self,
        old: &MemberSnapshot,
        new: &MemberSnapshot,
        keys: &mut Affected<ObjectName>,
    ) {
        each_touched(&old.endpoint_slices, &new.endpoint_slices, |slice| {
            if is_left(slice) {
                keys.add(slice.name.clone());
            }
        });
    }

    fn plan(&self, slice: &ObjectName, snapshot: &MemberSnapshot, _: Timestamp) -> Plan {
        let mut plan = Plan::default();
        let slice = snapshot.endpoint_slices.get(slice).filter(|slice| is_left(slice));
        if let Some(slice) = slice {
            plan.push(LOCAL.delete(slice).urgent());
        }
        plan
    }
}

/// Both labels are ours, and nobody else has a use for them.
fn is_left(slice: &Object<EndpointSlice>) -> bool {
    slicing::manager(slice) == Some(labels::MANAGED_BY_NETWORK)
        && slice.meta.label(labels::NETWORK_SERVICE).is_some()
        && !slice.meta.is_terminating()
}
