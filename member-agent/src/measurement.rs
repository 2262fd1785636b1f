//! What the plans of this agent measure, as data; [`metrics`](crate::metrics) records it.

use fleet_accumulator::Uid;
use fleet_endpointslice::Measures;
use fleet_plan::Event;
use fleet_virtual_node::life::State;
use fleet_virtual_node::pod::Rejection;
use jiff::Timestamp;

use crate::fence::Fence;
use crate::traffic::{Decided, Subject};

/// A plan of one of this agent's controllers.
pub type Plan = fleet_plan::Plan<Measurement>;

/// Something to measure.
#[derive(Clone, Debug, PartialEq)]
pub enum Measurement {
    /// The export of a Service is complete.
    Exported {
        /// Cluster of the Service.
        origin: String,
        /// When the exporter saw the change.
        since: Timestamp,
    },
    /// A change of endpoints has arrived.
    Imported(Imported),
    /// An EndpointSlice was created, updated or deleted: the verb.
    SliceWritten(&'static str),
    /// The EndpointSlices of a Service were compared with its pods.
    Synced(Synced),
    /// Hints by capacity may have ended: the Event, if the Service had such hints.
    HintsEnded(Event),
    /// Which cluster the hub has recorded.
    Fence(Fence),
    /// How far a Pod on a virtual node is.
    PodState {
        /// Its executor.
        executor: String,
        /// How far it is.
        state: State,
    },
    /// A Pod on a virtual node does not cross.
    PodRefused(Rejection),
    /// The status of a Pod on a virtual node shows since when it is ready or not, by the clock of its executor.
    PodReadinessWritten(Timestamp),
    /// A Pod on a virtual node was given to the hub.
    PodExported,
    /// The status of a Pod on a virtual node was written.
    PodStatusWritten,
    /// A Pod on a virtual node was removed.
    PodRemoved,
    /// A Pod of another member was created.
    RemotePodCreated,
    /// The status of a Pod of another member was reported.
    ImportStatusWritten,
    /// A Pod of another member is there as it should be, after something about it was refused.
    RemotePodSettled,
    /// Something of a Pod that does not exist any more was stopped.
    DanglingStop,
    /// Which endpoints of a Service get new connections: to be remembered.
    Traffic(Box<Decided>),
    /// A Service is imported, and there is nothing to direct.
    TrafficIdle(Subject),
    /// A Service is no longer imported.
    TrafficEnded(Subject),
}

/// The arrival of a slice's generation.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// Cluster of the exported slice.
    pub origin: String,
    /// When the exporter saw the change.
    pub since: Timestamp,
    /// Whether the slice did not exist here.
    pub first: bool,
    /// The copy on the hub.
    pub copy: Uid,
    /// The generation, which counts once, however often it has to be written.
    pub generation: i64,
}

/// The outcome of one comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Synced {
    /// Sizes per address type; empty if the Service has no EndpointSlices of this agent.
    pub measures: Vec<Measures>,
    /// Whether endpoints had to be left out.
    pub problems: bool,
    /// Which hints by capacity the Service has.
    pub hints: HintsByCapacity,
}

/// Whether endpoints of a Service carry hints by the capacity of zones. The EndpointSlices alone do not distinguish
/// these from hints by traffic distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HintsByCapacity {
    /// They do.
    Present,
    /// They do not.
    #[default]
    Absent,
    /// What was known before still holds.
    Unchanged,
}
