//! Scenario tests, measurements and the demo of the fleet, and the testbed they run on: real Kubernetes control
//! planes, started as processes on one machine.

pub mod fleet;
pub mod plain_http;
pub mod testbed;
pub mod wait;
