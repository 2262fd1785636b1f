//! What differs between the controllers that use this crate.

use k8s_openapi::api::core::v1::Service;

use crate::names::{MANAGER, SERVICE_NAME};

/// When a Service counts as headless, for the label of its slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headless {
    /// It has no cluster IP, be it `None` or not assigned yet.
    WithoutClusterIp,
    /// Its cluster IP is `None`.
    OnRequest,
}

/// Which hints endpoints get, by the topology annotation and the Service's traffic distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hints {
    /// None.
    None,
    /// By the annotation and `PreferClose`, as before `PreferSameZone` and `PreferSameNode` were known.
    Close,
    /// By the annotation and all distributions.
    All,
}

/// Settings of a reconciler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Value of the manager label: whose slices these are.
    pub manager: String,
    /// The label with the Service's name. Under another one than the usual, consumers in the cluster do not find the
    /// slices.
    pub service_label: &'static str,
    /// What names of new slices begin with, before the name of the Service.
    pub name_prefix: &'static str,
    /// Most endpoints of a slice, at least 1. Fuller slices stay as they are.
    pub limit: usize,
    /// Which Services are headless.
    pub headless: Headless,
    /// Whether ports carry the application protocol of the Service's port.
    pub app_protocol: bool,
    /// Whether a Service without endpoints keeps one empty slice per address type.
    pub placeholder: bool,
    /// Which hints endpoints get.
    pub hints: Hints,
}

impl Config {
    /// As the built-in controller works on pods.
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

    /// As Linkerd's controller works on external workloads.
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
