//! Slices of networks that remain after the mode `off` was set.
//!
//! No controller maintains them, and nothing uses them: kube-proxy does not select them, and they are exported only
//! while the mode is on. The watch of all slices, which exporting needs anyway, finds them, so that `off` costs
//! nothing. The agent needs the same permissions to delete them as it needed to create them.

use fleet_accumulator::{Object, SourceSet};
use fleet_api::{ObjectName, labels};
use fleet_model::changes::each_touched;
use fleet_model::objects::EndpointSlice;
use fleet_model::steps::LOCAL;
use fleet_plan::{Affected, Controller};
use jiff::Timestamp;

use super::name::NAME;
use crate::measurement::{Measurement, Plan};
use crate::slicing;
use crate::snapshot::MemberSnapshot;

/// Deletes the slices of networks.
#[derive(Debug)]
pub struct LeftoverController;

impl Controller for LeftoverController {
    type Snapshot = MemberSnapshot;
    /// A slice.
    type Key = ObjectName;
    type Measurement = Measurement;

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
                keys.add_own(slice.name.clone());
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

/// Whether this agent made the slice: no other controller sets both labels.
fn is_left(slice: &Object<EndpointSlice>) -> bool {
    slicing::manager(slice) == Some(labels::MANAGED_BY_NETWORK)
        && slice.meta.label(labels::NETWORK_SERVICE).is_some()
        && !slice.meta.is_terminating()
}
