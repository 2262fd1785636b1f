//! Whole clusters on one machine: a control plane of the [testbed](fleet_testbed), and a node with containerd, kubelet,
//! kube-proxy and the Pods of CoreDNS, in namespaces of the kernel. Pods answer, and packets cross from cluster to cluster.
//!
//! - [`requirements`] names what this machine lacks for it: root, Linux, Debian's packages;
//! - [`programs`] finds or builds the programs, and makes the images;
//! - [`network`] connects the nodes; [`sandbox`] holds one, and takes everything in it along when it ends;
//! - [`node`] starts what a node runs; [`dns`] is the cluster's DNS;
//! - [`whole`] is a fleet of such clusters; [`pods`] is what users deploy in them and ask of them, [`lookup`] what DNS
//!   answers them;
//! - [`load`] calls Services a thousand times a second and counts what becomes of it; [`balanced`] are the Pods that answer;
//! - [`crossing`] carries a Service from one cluster to another, and knows the name that it has there.

pub mod balanced;
pub mod crossing;
pub mod dns;
pub mod dns_address;
pub mod limits;
pub mod load;
pub mod lookup;
pub mod network;
pub mod node;
pub mod pods;
pub mod processes;
pub mod programs;
pub mod requirements;
pub mod sandbox;
pub mod slot;
pub mod synced;
pub mod usage;
pub mod whole;
