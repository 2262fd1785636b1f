//! Which endpoints of a Service get new connections in this cluster (docs/design/traffic.md).
//!
//! `fleet_traffic` decides; here is what it decides on, and what its answer means to EndpointSlices. Both controllers that import
//! Services read it.

mod affected;
mod change;
mod decided;
mod directed;
mod exporter;
mod ground;
mod holding;
mod kept;
mod limit;
mod local;
mod members;
mod offered;
mod outlook;
mod pace;
mod placed;
mod pool;
mod recalled;
mod report;
mod round;
mod rules;
mod runners;
mod shaping;
mod standing;
mod subject;
#[cfg(test)]
mod tests;
mod verdicts;

pub(crate) use affected::{Concerned, concerned};
pub(crate) use change::{is_shape_only, loses, same_endpoints};
pub use decided::Decided;
pub(crate) use directed::{Directed, conclude};
pub(crate) use exporter::Exporter;
pub(crate) use ground::Ground;
pub(crate) use kept::{KeptSlice, part as part_kept};
pub(crate) use limit::Limit;
pub(crate) use local::LocalWriter;
pub(crate) use members::MemberMemory;
pub(crate) use offered::{weight_mark, weight_of, weights};
pub(crate) use outlook::Outlook;
#[cfg(test)]
pub(crate) use pace::Turn;
pub(crate) use pace::{Noted, Pace};
pub(crate) use pool::States;
pub(crate) use recalled::Recalled;
pub(crate) use report::{Report, SERVED_BY};
pub(crate) use round::{Draft, Kept, Offer};
pub(crate) use rules::Rules;
pub(crate) use shaping::Distribution;
pub use subject::{Api, Subject};
