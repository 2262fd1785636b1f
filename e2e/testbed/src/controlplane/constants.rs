//! Files of a control plane in its folder, and how long its servers are waited for.

use std::time::Duration;

/// How long one server may take to become ready before the start fails. An idle machine needs under 4 s for all; on one
/// that runs many tests at a time an API server with writers at its door has needed more than a minute for its own roles.
pub(super) const READY_DEADLINE: Duration = Duration::from_mins(3);
pub(super) const POLL: Duration = Duration::from_millis(25);

pub(super) const CA: &str = "ca.crt";
pub(super) const CA_KEY: &str = "ca.key";
pub(super) const TOKEN_KEY: &str = "service-account.key";
pub(super) const TOKEN_PUBLIC_KEY: &str = "service-account.pub";
pub(super) const SERVER_CERTIFICATE: &str = "apiserver.crt";
pub(super) const SERVER_KEY: &str = "apiserver.key";
/// What the API server shows kubelets, where it has nodes.
pub(super) const KUBELET_CLIENT_CERTIFICATE: &str = "kubelet-client.crt";
pub(super) const KUBELET_CLIENT_KEY: &str = "kubelet-client.key";
