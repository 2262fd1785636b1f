//! Testbed for a fleet: real Kubernetes control planes, started as processes on one machine.
//!
//! - [`testbed`](crate::Testbed) starts control planes, of the releases that [`versions`] chooses; [`agents`] starts the agents; [`fleet`] joins clusters, its own or
//!   existing ones;
//! - [`workload`], [`exchange`] and [`multicluster`] do what users do and look at what users see;
//! - [`objects`] finds leftovers and dumps everything; [`observer`] watches what happens and when;
//! - [`proxy`] does to connections what networks do, [`hub_ways`] to those of members to the hub, [`fault_proxy`] to single requests;
//! - [`audit`] counts the agents' writes; [`mix`] shows how many a second the servers do;
//! - [`helm`] is what users install the charts with, [`kubelet`] runs what they install, [`played_node`] only looks so;
//!   [`virtual_node`] lets Pods of one member run in another, [`traffic`] directs what is imported; [`prometheus`] and [`otlp`]
//!   observe it;
//! - [`edition`] is a version of this project, [`released`] builds the last release;
//! - [`wait`] waits for conditions, [`turn`] for the fleets of other tests; [`command`] is `fleet-testbed`.

pub mod admission;
pub mod agent;
pub mod agents;
pub mod apply;
pub mod audit;
pub mod binaries;
pub mod client;
pub mod cluster;
pub mod command;
pub mod controlplane;
pub mod crds;
pub mod description;
pub mod edition;
pub mod exchange;
pub mod fault_proxy;
pub mod fleet;
pub mod go_module;
pub mod helm;
pub mod hub_ways;
pub mod join;
pub mod kubeconfig;
pub mod kubelet;
mod log_ends;
pub mod member_policy;
pub mod mix;
pub mod multicluster;
pub mod objects;
pub mod observer;
pub mod otlp;
pub mod pki;
pub mod plain_http;
pub mod played_node;
pub mod pod;
pub mod policies;
pub mod ports;
pub mod process;
pub mod prometheus;
pub mod proxy;
pub mod quota;
pub mod random;
pub mod rbac;
pub mod released;
pub mod scrape;
pub mod state;
pub mod stop;
mod testbed;
pub mod timing;
mod token;
pub mod traffic;
pub mod turn;
pub mod versions;
pub mod virtual_node;
pub mod wait;
pub mod workload;

pub use testbed::{Bare, Options, Testbed};
