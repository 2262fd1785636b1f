//! What an export offers.

use fleet_accumulator::Object;
use fleet_api::ServicePort;
use fleet_api::multicluster::{
    self, ExportedServiceSpec, IpFamily, ServiceExportReference, ServiceProperties,
    ServiceReference, ServiceType, SessionAffinity,
};
use fleet_model::objects::Service;
use fleet_model::objects::multicluster::standard;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::metadata;
use super::state::ServiceState;

/// The content of the ExportedService.
pub(super) fn spec(
    state: &ServiceState<'_>,
    export: &Object<standard::ServiceExport>,
    service: &Object<Service>,
) -> ExportedServiceSpec {
    ExportedServiceSpec {
        service: ServiceReference::from(state.name),
        service_uid: service.uid.to_string(),
        export: ServiceExportReference {
            uid: export.uid.to_string(),
            created: export.meta.created.map(Time),
        },
        properties: properties(state, export, service),
    }
}

/// As core Services have them after defaulting. A headless one has no affinity: its clients choose an address themselves.
fn properties(
    state: &ServiceState<'_>,
    export: &Object<standard::ServiceExport>,
    service: &Object<Service>,
) -> ServiceProperties {
    let headless = service.is_headless();
    let affinity = if headless { SessionAffinity::None } else { service.session_affinity };
    let exported = metadata::Exported::of(state.settings, export);
    ServiceProperties {
        type_: if headless { ServiceType::Headless } else { ServiceType::ClusterSetIP },
        ports: service.ports.iter().map(port).collect(),
        session_affinity: affinity,
        affinity_timeout_seconds: match affinity {
            SessionAffinity::ClientIP => service.affinity_timeout_seconds,
            SessionAffinity::None => None,
        },
        internal_traffic_policy: service.internal_traffic_policy,
        traffic_distribution: service.traffic_distribution.clone(),
        ip_families: families(service),
        labels: exported.labels,
        annotations: exported.annotations,
    }
}

fn port(port: &ServicePort) -> multicluster::ServicePort {
    let ServicePort { name, protocol, app_protocol, port, target_port: _ } = port;
    multicluster::ServicePort {
        name: name.clone().unwrap_or_default(),
        protocol: protocol.clone(),
        port: *port,
        app_protocol: app_protocol.clone(),
    }
}

/// The families, each once.
fn families(service: &Service) -> Vec<IpFamily> {
    let mut families: Vec<_> =
        service.ip_families.iter().filter_map(|family| IpFamily::parse(family)).collect();
    families.dedup();
    families
}
