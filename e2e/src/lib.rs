//! Scenario tests, measurements and the demo of the fleet, and the testbed they run on: real Kubernetes control
//! planes, started as processes on one machine.
//!
//! - [`testbed`] starts control planes and agents; [`fleet`] joins clusters, its own or existing ones;
//! - [`workload`] and [`exchange`] do what users do and look at what users see;
//! - [`objects`] finds leftovers and dumps everything; [`observer`] watches what happens and when;
//! - [`oracle`] records a run and judges it; [`mirror`] compares the outcome of one run with that of another;
//! - [`proxy`] does to connections what networks do, [`fault_proxy`] to single requests;
//! - [`audit`] counts the agents' writes; [`bench`] is `fleet-bench`;
//! - [`helm`] is what users install the charts with, [`kubelet`] runs what they install; [`prometheus`] and [`otlp`]
//!   observe it;
//! - [`wait`] waits for conditions; [`command`] is `fleet-testbed`, [`demo`] is `fleet-demo`.

pub mod audit;
pub mod bench;
pub mod command;
pub mod demo;
pub mod exchange;
pub mod fault_proxy;
pub mod fleet;
pub mod helm;
pub mod kubelet;
pub mod mirror;
pub mod objects;
pub mod observer;
pub mod oracle;
pub mod otlp;
pub mod plain_http;
pub mod prometheus;
pub mod proxy;
pub mod scrape;
pub mod testbed;
pub mod wait;
pub mod workload;
