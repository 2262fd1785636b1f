//! Testbed for a fleet: real Kubernetes control planes, started as processes on one machine.
//!
//! - [`testbed`](crate::Testbed) starts control planes; [`agents`] starts the agents; [`fleet`] joins clusters, its own or
//!   existing ones;
//! - [`workload`], [`exchange`] and [`multicluster`] do what users do and look at what users see;
//! - [`objects`] finds leftovers and dumps everything; [`observer`] watches what happens and when;
//! - [`proxy`] does to connections what networks do, [`fault_proxy`] to single requests;
//! - [`audit`] counts the agents' writes;
//! - [`helm`] is what users install the charts with, [`kubelet`] runs what they install; [`prometheus`] and [`otlp`]
//!   observe it;
//! - [`wait`] waits for conditions; [`command`] is `fleet-testbed`.

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
pub mod exchange;
pub mod fault_proxy;
pub mod fleet;
pub mod go_module;
pub mod helm;
pub mod join;
pub mod kubeconfig;
pub mod kubelet;
pub mod member_policy;
pub mod multicluster;
pub mod objects;
pub mod observer;
pub mod otlp;
pub mod pki;
pub mod plain_http;
pub mod pod;
pub mod policies;
pub mod ports;
pub mod process;
pub mod prometheus;
pub mod proxy;
pub mod quota;
pub mod random;
pub mod rbac;
pub mod scrape;
pub mod state;
pub mod stop;
mod testbed;
mod token;
pub mod wait;
pub mod workload;

pub use testbed::{Bare, Options, Testbed};
