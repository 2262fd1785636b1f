//! What the import of a Service should be: by the hub, as far as its word counts, or else by what there is.

use std::collections::{BTreeMap, BTreeSet};

use fleet_api::annotations::MULTICLUSTER_DERIVED_SERVICE;
use fleet_api::multicluster::standard::{ServiceImportPort, ServiceImportSpec};
use fleet_api::multicluster::{ServicePort, ServiceProperties, ServiceType, SessionAffinity};
use fleet_model::multicluster::metadata::{allowed_annotations, allowed_labels};
use fleet_model::multicluster::ports::is_valid;
use fleet_model::objects::multicluster::ResolvedService;
use k8s_openapi::api::core::v1::{ClientIPConfig, SessionAffinityConfig};

use super::families::{Families, Offered, families};
use super::state::{Import, ServiceState};
use super::trust::{Held, ImportFate, Trust};

/// The import as it should be.
#[derive(Debug)]
pub(super) struct Target {
    /// The spec without addresses and, but for a headless Service, without families.
    pub(super) spec: ServiceImportSpec,
    /// The families of the derived Service.
    pub(super) families: WantedFamilies,
    /// Exported labels and annotations; `None` where those that are there stay.
    pub(super) exported: Option<Exported>,
    /// The incarnation of the hub that confirms it.
    pub(super) mark: String,
    /// The exporting clusters, by name.
    pub(super) clusters: Vec<String>,
    /// Why it stays as it is although the hub lacks it.
    pub(super) held: Option<Held>,
}

/// The families of the derived Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WantedFamilies {
    /// These.
    These(Families),
    /// This cluster has none of those that are exported.
    NotSupported,
    /// Unknown while the hub's word does not count.
    NotKnown,
}

/// Labels and annotations that the exporters chose.
#[derive(Debug, Default)]
pub(super) struct Exported {
    pub(super) labels: BTreeMap<String, String>,
    pub(super) annotations: BTreeMap<String, String>,
}

/// What happens to the import of a Service.
#[derive(Debug)]
pub(super) enum Decision {
    /// It is brought to this.
    Import(Box<Target>),
    /// It stays as this, and goes if the hub states nothing for a while.
    Forget(Box<Target>),
    /// What there is of it goes.
    Remove,
    /// There is nothing to go by: a user made it unreadable, and the hub's word does not count yet.
    Wait,
}

/// Decides on the import of a Service.
pub(super) fn decide(state: &ServiceState<'_>) -> Decision {
    if state.is_unwanted_here() {
        return Decision::Remove;
    }
    let import = |target| Decision::Import(Box::new(target));
    let Some(current) = state.import else {
        let Some(resolved) = state.resolved else { return Decision::Remove };
        // What an old view shows may have been removed since.
        let is_current = state.trust() >= Trust::Known;
        let whole = whole(state, resolved).filter(|_| is_current);
        return whole.map_or(Decision::Wait, import);
    };
    match state.fate() {
        ImportFate::Remove => Decision::Remove,
        ImportFate::Forget => kept(state, current, Some(Held::Unsettled))
            .map_or(Decision::Remove, |target| Decision::Forget(Box::new(target))),
        ImportFate::Keep(held) => kept(state, current, Some(held)).map_or(Decision::Wait, import),
        ImportFate::Extend => extended(state, current).map_or(Decision::Wait, import),
        ImportFate::Follow => {
            let whole = state.resolved.and_then(|resolved| whole(state, resolved));
            whole.map_or(Decision::Wait, import)
        }
    }
}

impl Target {
    pub(super) fn is_headless(&self) -> bool {
        self.spec.type_ == ServiceType::Headless
    }

    /// Whether a cluster is one of the exporting ones.
    pub(super) fn lists(&self, cluster: &str) -> bool {
        self.clusters.binary_search_by(|listed| listed.as_str().cmp(cluster)).is_ok()
    }
}

/// All that the hub states.
fn whole(state: &ServiceState<'_>, resolved: &ResolvedService) -> Option<Target> {
    let properties = &resolved.properties;
    let exporters = resolved.exporters.iter();
    Some(Target {
        spec: spec(properties),
        families: offered(state, properties),
        exported: Some(exported(state, properties)),
        mark: state.hub?.incarnation?.to_owned(),
        clusters: exporters.map(|exporter| exporter.cluster.clone()).collect(),
        held: None,
    })
}

/// Other tools read labels and annotations, and may adopt or delete what carries theirs: a cluster need not take any.
fn exported(state: &ServiceState<'_>, properties: &ServiceProperties) -> Exported {
    if !state.settings.multicluster.exported_metadata {
        return Exported::default();
    }
    Exported {
        labels: allowed_labels(&properties.labels),
        annotations: allowed_annotations(&properties.annotations),
    }
}

/// What there is.
fn kept(state: &ServiceState<'_>, current: &Import, held: Option<Held>) -> Option<Target> {
    let mut spec = (**current.spec.as_ref()?).clone();
    spec.ips.clear();
    // A user may have edited the import: a derived Service shows what it was.
    let derived = state.derived().find(|derived| !derived.meta.is_terminating());
    let has_addresses = current.meta.annotation(MULTICLUSTER_DERIVED_SERVICE).is_some();
    if derived.is_some() && has_addresses {
        spec.type_ = ServiceType::ClusterSetIP;
    }
    let list = derived.map_or_else(|| spec.ip_families.clone(), |derived| families(derived));
    let families = Families::of_import(&list);
    let families = match (families, state.resolved) {
        (Some(families), _) => WantedFamilies::These(families),
        (None, Some(resolved)) => offered(state, &resolved.properties),
        (None, None) => WantedFamilies::NotKnown,
    };
    if spec.type_ == ServiceType::ClusterSetIP {
        spec.ip_families.clear();
    }
    Some(Target {
        spec,
        families,
        exported: None,
        mark: current.hub()?.to_owned(),
        clusters: clusters(current),
        held,
    })
}

/// What there is, and what the hub adds: ports at the end, and exporters.
fn extended(state: &ServiceState<'_>, current: &Import) -> Option<Target> {
    let mut target = kept(state, current, None)?;
    let resolved = state.resolved?;
    let ports = ports(&resolved.properties);
    if ports.starts_with(&target.spec.ports) {
        target.spec.ports = ports;
    }
    let added = resolved.exporters.iter().map(|exporter| exporter.cluster.clone());
    target.clusters.extend(added);
    target.clusters.sort();
    target.clusters.dedup();
    Some(target)
}

/// The exporting clusters that an import names. A user may have brought them out of order.
fn clusters(import: &Import) -> Vec<String> {
    let named = import.status.clusters.iter().map(|status| status.cluster.clone());
    named.collect::<BTreeSet<_>>().into_iter().collect()
}

fn offered(state: &ServiceState<'_>, properties: &ServiceProperties) -> WantedFamilies {
    let wanted = Offered::of(state.snapshot).wanted(&properties.ip_families);
    wanted.map_or(WantedFamilies::NotSupported, WantedFamilies::These)
}

fn spec(properties: &ServiceProperties) -> ServiceImportSpec {
    let is_headless = properties.type_ == ServiceType::Headless;
    let affinity = |client| SessionAffinityConfig { client_ip: Some(client) };
    let timeout = properties.affinity_timeout_seconds;
    let timeout = timeout.filter(|_| properties.session_affinity == SessionAffinity::ClientIP);
    ServiceImportSpec {
        ports: ports(properties),
        ips: Vec::new(),
        type_: properties.type_,
        session_affinity: Some(properties.session_affinity),
        session_affinity_config: timeout
            .map(|seconds| affinity(ClientIPConfig { timeout_seconds: Some(seconds) })),
        ip_families: if is_headless { properties.ip_families.clone() } else { Vec::new() },
        internal_traffic_policy: Some(properties.internal_traffic_policy),
        traffic_distribution: properties.traffic_distribution.clone(),
    }
}

/// Those that a Service can have: the definition of the kind allows others.
fn ports(properties: &ServiceProperties) -> Vec<ServiceImportPort> {
    properties.ports.iter().filter(|port| is_valid(port)).map(port).collect()
}

fn port(port: &ServicePort) -> ServiceImportPort {
    ServiceImportPort {
        name: port.name.clone(),
        protocol: Some(port.protocol.as_str().to_owned()),
        app_protocol: port.app_protocol.clone(),
        port: port.port,
    }
}
