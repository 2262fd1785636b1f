//! Logs which cluster the hub has recorded, when that changes.

use fleet_plan::Event;
use fleet_runtime::engine::Recorder;
use jiff::Timestamp;

use crate::fence::Fence;
use crate::measurement::Measurement;

/// What was logged last.
#[derive(Debug, Default)]
pub(crate) struct FenceLog(Option<Fence>);

impl<K> Recorder<K, Measurement> for FenceLog {
    fn record(&mut self, _: &K, what: &Measurement, _: Timestamp) -> Vec<Event> {
        if let Measurement::Fence(fence) = what
            && self.0.as_ref() != Some(fence)
        {
            log(fence);
            self.0 = Some(fence.clone());
        }
        Vec::new()
    }
}

fn log(fence: &Fence) {
    match fence {
        Fence::Unknown => {}
        Fence::Free => tracing::info!("No cluster is recorded under this name on the hub"),
        Fence::Ours => tracing::info!("This cluster is recorded on the hub"),
        Fence::Unrecorded(why) => tracing::warn!(
            reason = %why,
            "This cluster cannot be recorded on the hub, and a second one of its name would not be noticed"
        ),
        Fence::Taken(taken) => {
            tracing::warn!(reason = %taken, "Nothing is written: another cluster has this name");
        }
    }
}
