//! Proof of scale: fleets of up to 1000 members on one machine.
//!
//! The hub is real: etcd, kube-apiserver, the hub agent as a process. The members are played: one process runs the
//! member agent's own library many times, each with credentials of its own for the hub, between the hub and a cluster in
//! memory. What is measured is what the hub and its agent need.

mod account;
mod arrivals;
mod cold_start;
mod growth;
mod large_fleet;
mod load;
mod member;
mod quota;
mod report;
mod run;
mod simulated_members;
mod solo;
mod standard;
mod wire;

pub use run::main;
