//! The address that Pods ask for names.

/// ClusterIP of the cluster's DNS, the same in all clusters.
pub const DNS_ADDRESS: &str = "10.96.0.10";
