//! The reports of members, as a watch of the hub shows them. Agents do not read them.

use fleet_accumulator::views;
use fleet_model::objects::multicluster::ReachReport;

views! {
    /// The reports on the hub.
    pub(crate) struct ReachSnapshot {
        /// What members reach, in the members' namespaces.
        hub optional reach_reports: ReachReport,
    }
}
