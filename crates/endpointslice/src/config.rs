//! Settings in which the controllers that use this crate differ.

use k8s_openapi::api::core::v1::Service;

use crate::names::{MANAGER, SERVICE_NAME};

/// Condition under which slices of a Service get the label for headless Services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headless {
    /// The cluster IP is `None` or not assigned yet.
    WithoutClusterIp,
    /// The cluster IP is `None`.
    OnRequest,
}

/// Hints that endpoints get, based on the topology annotation and the Service's traffic distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hints {
    /// No hints.
    None,
    /// Hints for the annotation and for `PreferClose`, as before `PreferSameZone` and `PreferSameNode` existed.
    Close,
    /// Hints for the annotation and for all traffic distributions.
    All,
}

/// Settings of a reconciler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Value of the manager label, which marks the slices of this controller.
    pub manager: String,
    /// Key of the label with the Service's name. With a key other than Kubernetes' own, consumers in the cluster do not
    /// find the slices.
    pub service_label: &'static str,
    /// Prefix of the names of new slices, before the name of the Service.
    pub name_prefix: &'static str,
    /// Maximum number of endpoints per slice, at least 1. Existing slices with more are not split.
    pub limit: usize,
    /// Condition under which a Service counts as headless.
    pub headless: Headless,
    /// Whether slices carry the application protocols of the Service's ports.
    pub app_protocol: bool,
    /// Whether a Service without endpoints keeps one empty slice per address type.
    pub placeholder: bool,
    /// Hints that endpoints get.
    pub hints: Hints,
}

impl Config {
    /// Settings of Kubernetes' own controller, which works on pods.
    pub fn pods() -> Self {
        Self {
            manager: MANAGER.to_owned(),
            service_label: SERVICE_NAME,
            name_prefix: "",
            limit: 100,
            headless: Headless::WithoutClusterIp,
            app_protocol: true,
            placeholder: true,
            hints: Hints::All,
        }
    }

    /// Settings of Linkerd's controller, which works on external workloads.
    pub fn external_workloads() -> Self {
        Self {
            manager: "linkerd-external-workloads-controller".to_owned(),
            name_prefix: "linkerd-external-",
            headless: Headless::OnRequest,
            app_protocol: false,
            placeholder: false,
            hints: Hints::None,
            ..Self::pods()
        }
    }

    pub(crate) fn is_headless(&self, service: &Service) -> bool {
        let ip = service.spec.as_ref().and_then(|spec| spec.cluster_ip.as_deref());
        match self.headless {
            Headless::WithoutClusterIp => matches!(ip, None | Some("" | "None")),
            Headless::OnRequest => ip == Some("None"),
        }
    }
}
