//! What is watched to decide which endpoints of a Service get new connections.

mod decision;
mod fleet_traffic;
mod member_traffic;
mod service_traffic;

pub use decision::{FleetDecision, MemberDecision};
pub use fleet_traffic::{FleetTraffic, FleetTrafficWire};
pub use member_traffic::{MemberTraffic, MemberTrafficWire};
pub use service_traffic::{ServiceTraffic, ServiceTrafficWire};
