//! The input of a reconcile.

use std::collections::BTreeMap;

use fleet_endpointslice::{AddressType, Config, Hints, MANAGER};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde::Deserialize;

/// A scenario.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Scenario {
    #[serde(default, rename = "id")]
    _id: Option<String>,
    #[serde(default, rename = "op")]
    _op: Option<String>,
    #[serde(default)]
    pub(crate) config: Settings,
    #[serde(default)]
    trigger_time: Option<String>,
    pub(crate) service: Service,
    #[serde(default)]
    pub(crate) pods: Vec<Pod>,
    #[serde(default)]
    pub(crate) nodes: Vec<Node>,
    #[serde(default)]
    pub(crate) slices: Vec<EndpointSlice>,
}

/// How to run it. `runs` and `shuffle` are for implementations that choose at random.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Settings {
    max_endpoints_per_slice: Option<usize>,
    controller_name: Option<String>,
    prefer_same_traffic_distribution: Option<bool>,
    topology_cache: Option<bool>,
    set_nodes: Option<bool>,
    #[serde(default)]
    pub(crate) prior_hints: BTreeMap<String, BTreeMap<String, usize>>,
    #[serde(default, rename = "runs")]
    _runs: Option<u32>,
    settle: Option<bool>,
    #[serde(default, rename = "shuffle")]
    _shuffle: bool,
    #[serde(default)]
    pub(crate) metrics: bool,
    #[serde(default)]
    pub(crate) faults: Vec<Fault>,
}

/// Makes the nth call of a verb fail, counted from 1.
#[derive(Clone, Deserialize)]
pub(crate) struct Fault {
    pub(crate) verb: String,
    pub(crate) nth: usize,
    pub(crate) error: String,
}

impl Settings {
    pub(crate) fn topology_cache(&self) -> bool {
        self.topology_cache.unwrap_or(true)
    }

    pub(crate) fn set_nodes(&self) -> bool {
        self.set_nodes.unwrap_or(true)
    }

    pub(crate) fn settle(&self) -> bool {
        self.settle.unwrap_or(true)
    }

    pub(crate) fn config(&self) -> Config {
        let manager = self.controller_name.clone().filter(|name| !name.is_empty());
        let prefer_same = self.prefer_same_traffic_distribution.unwrap_or(true);
        Config {
            manager: manager.unwrap_or_else(|| MANAGER.to_owned()),
            limit: self.max_endpoints_per_slice.unwrap_or(100),
            hints: if prefer_same { Hints::All } else { Hints::Close },
            ..Config::pods()
        }
    }
}

impl Scenario {
    /// Fills in what an object read from an API server always has.
    pub(crate) fn normalise(&mut self) {
        let namespace = |namespace: &mut Option<String>, default: &str| {
            if namespace.as_deref().unwrap_or_default().is_empty() {
                *namespace = Some(default.to_owned());
            }
        };
        namespace(&mut self.service.metadata.namespace, "default");
        let own = self.service.metadata.namespace.clone().unwrap_or_default();
        for pod in &mut self.pods {
            namespace(&mut pod.metadata.namespace, &own);
        }
        for slice in &mut self.slices {
            let meta = &mut slice.metadata;
            namespace(&mut meta.namespace, &own);
            let uid = format!("uid-{}", meta.name.as_deref().unwrap_or_default());
            meta.uid.get_or_insert(uid);
            meta.generation.get_or_insert(1);
            meta.resource_version.get_or_insert_with(|| "1".to_owned());
        }
    }

    pub(crate) fn trigger_time(&self) -> Result<Option<Timestamp>, jiff::Error> {
        self.trigger_time.as_deref().map(str::parse).transpose()
    }

    pub(crate) fn namespace(&self) -> &str {
        self.service.metadata.namespace.as_deref().unwrap_or_default()
    }

    pub(crate) fn name(&self) -> &str {
        self.service.metadata.name.as_deref().unwrap_or_default()
    }

    /// `namespace/name`.
    pub(crate) fn key(&self) -> String {
        format!("{}/{}", self.namespace(), self.name())
    }
}

/// The address type of this text.
pub(crate) fn address_type(text: &str) -> Option<AddressType> {
    AddressType::ALL.into_iter().find(|known| known.as_str() == text)
}
