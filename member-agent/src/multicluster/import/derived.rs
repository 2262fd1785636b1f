//! The derived Service, whose addresses are those of the import.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::multicluster::SessionAffinity;
use fleet_api::multicluster::standard::{ServiceImportPort, ServiceImportSpec};
use fleet_api::{ObjectName, Protocol, ServicePort, annotations, labels, names};
use fleet_model::objects::Service;
use fleet_model::ports as port_lists;
use fleet_model::steps::{LOCAL, owner_reference, to_json};
use fleet_plan::json_patch::{add, remove};
use fleet_plan::{Step, StepId};
use k8s_openapi::api::core::v1::{ClientIPConfig, SessionAffinityConfig};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::{Value, json};

use super::families::{Families, families};
use super::ports;
use super::selector::Selector;
use super::service_import::Addresses;
use super::state::{Import, ServiceState, is_derived, is_import};
use super::target::Target;
use crate::measurement::Plan;

/// How long a derived Service that was deleted waits for its address to be free.
const PINNED: Duration = Duration::from_secs(5);
/// How soon it is looked again for a free name.
const NAME_RETRY: Duration = Duration::from_mins(1);
/// What API servers fill in.
const AFFINITY_TIMEOUT: i32 = 10_800;
/// The values of `trafficDistribution` that API servers accept, since the oldest release that the agents support.
const DISTRIBUTIONS: [&str; 3] = ["PreferClose", "PreferSameZone", "PreferSameNode"];

/// The derived Service of an import.
#[derive(Debug)]
pub(super) enum Derived<'a> {
    /// There is none of this name.
    Missing(ObjectName),
    /// This one, which may have to be changed.
    Present(&'a Object<Service>),
    /// This one has to be replaced, because the API server cannot change it.
    Unfit(&'a Object<Service>),
    /// This one is being deleted, and blocks its successor.
    Ending(&'a Object<Service>),
    /// Services of others have its names.
    Taken,
}

impl<'a> Derived<'a> {
    /// What there is. A Service of another owner with the first name costs that name alone.
    pub(super) fn of(
        state: &ServiceState<'a>,
        import: Option<&Import>,
        families: Option<&Families>,
    ) -> Self {
        let names = names::derived_import_candidates(state.service);
        let names: Vec<_> = names.into_iter().map(|name| state.beside(name)).collect();
        let there = |name: &ObjectName| state.snapshot.services.get(name);
        let mut services = names.iter().filter_map(there);
        // One that exists is kept under any name.
        if let Some(service) = services.find(|service| is_derived(state.service, service)) {
            return Self::found(service, import, families);
        }
        let free = names.into_iter().find(|name| there(name).is_none());
        free.map_or(Self::Taken, Self::Missing)
    }

    fn found(
        service: &'a Object<Service>,
        import: Option<&Import>,
        families: Option<&Families>,
    ) -> Self {
        let is_of_another = import.is_some_and(|import| is_of_another(service, import));
        if service.meta.is_terminating() {
            Self::Ending(service)
        } else if is_of_another
            || service.is_headless()
            || families.is_some_and(|families| !families.suit(service))
        {
            Self::Unfit(service)
        } else {
            Self::Present(service)
        }
    }

    /// Its name, if it has one.
    pub(super) fn name(&self) -> Option<&ObjectName> {
        match self {
            Self::Missing(name) => Some(name),
            Self::Present(service) | Self::Unfit(service) | Self::Ending(service) => {
                Some(&service.name)
            }
            Self::Taken => None,
        }
    }
}

/// Whether it was derived for a ServiceImport that is gone: the garbage collector deletes it.
fn is_of_another(service: &Service, import: &Import) -> bool {
    let mut owners = service.meta.owners.iter();
    let is_owned = owners.clone().any(|owner| is_import(owner, &import.name.name));
    is_owned && !owners.any(|owner| *owner.uid == *import.uid.to_string())
}

/// The addresses that a derived Service has.
pub(super) fn addresses(service: &Service) -> Addresses {
    let ips: Vec<_> = service.cluster_ips.iter().map(ToString::to_string).collect();
    let families = if ips.is_empty() { Vec::new() } else { families(service) };
    Addresses { ips, families }
}

/// Creates the Service, with the addresses that the import has: clients may know them. Where another Service has taken them
/// for a while, it gets others. Returns the step, if it is one that is due at once.
pub(super) fn create(
    state: &ServiceState<'_>,
    import: &Import,
    target: &Target,
    families: &Families,
    name: &ObjectName,
    plan: &mut Plan,
) -> Option<StepId> {
    let mut known = Addresses::of(import);
    let mut body = body(state, import, &target.spec, families);
    let is_pinned =
        known.families.first() == families.list.first() && can_be_had(state, &known.ips);
    let is_free = !known.ips.iter().any(|ip| is_taken(state, ip));
    if is_pinned && is_free {
        known.ips.truncate(families.list.len());
        body["spec"]["clusterIPs"] = json!(known.ips);
        body["spec"]["clusterIP"] = json!(known.ips.first());
    }
    let step = LOCAL.create::<Service>(name.clone(), body).stage("mcs_import");
    if is_pinned && !is_free {
        plan.debounce(PINNED, "its former address is taken", step);
        return None;
    }
    Some(plan.push(step))
}

/// Whether the API server could give these addresses: its ranges may have changed, or be about to end.
fn can_be_had(state: &ServiceState<'_>, ips: &[String]) -> bool {
    let ranges = &state.snapshot.service_cidrs;
    let is_in_range =
        |ip: IpAddr| ranges.iter().any(|range| range.gives && range.cidrs.find(ip).is_some());
    let mut ips = ips.iter().map(|ip| ip.parse());
    ips.len() > 0 && ips.all(|ip| ip.is_ok_and(|ip| ranges.is_empty() || is_in_range(ip)))
}

/// Whether a Service has the address.
fn is_taken(state: &ServiceState<'_>, ip: &str) -> bool {
    state.snapshot.services.iter().any(|service| service.cluster_ips.iter().any(|it| **it == *ip))
}

/// Looks again for a name: nothing of the import changes when one becomes free.
pub(super) fn wait(plan: &mut Plan) {
    plan.wake_within(NAME_RETRY);
}

fn body(
    state: &ServiceState<'_>,
    import: &Import,
    spec: &ServiceImportSpec,
    families: &Families,
) -> Value {
    let mut body = json!({
        "metadata": {
            "annotations": { annotations::FLEET_SERVICE: state.service.to_string() },
            "ownerReferences": [to_json(&owner_reference(import))],
        },
        "spec": {
            "type": "ClusterIP",
            "ports": to_json(&wanted_ports(&spec.ports, Selector::None)),
            "sessionAffinity": affinity(spec).as_str(),
            "internalTrafficPolicy": spec.internal_traffic_policy.unwrap_or_default().as_str(),
            "ipFamilies": families.list,
            "ipFamilyPolicy": families.policy,
        },
    });
    if let Some(config) = affinity_config(spec) {
        body["spec"]["sessionAffinityConfig"] = to_json(&config);
    }
    if let Some(distribution) = distribution(spec) {
        body["spec"]["trafficDistribution"] = json!(distribution);
    }
    body
}

fn affinity(spec: &ServiceImportSpec) -> SessionAffinity {
    spec.session_affinity.unwrap_or_default()
}

fn affinity_config(spec: &ServiceImportSpec) -> Option<SessionAffinityConfig> {
    let seconds = timeout(spec)?;
    Some(SessionAffinityConfig {
        client_ip: Some(ClientIPConfig { timeout_seconds: Some(seconds) }),
    })
}

fn timeout(spec: &ServiceImportSpec) -> Option<i32> {
    let config = spec.session_affinity_config.as_ref();
    let seconds = config.and_then(|config| config.client_ip.as_ref()?.timeout_seconds);
    let has_one = affinity(spec) == SessionAffinity::ClientIP;
    has_one.then_some(seconds.unwrap_or(AFFINITY_TIMEOUT))
}

/// What API servers accept; the import shows what was exported.
fn distribution(spec: &ServiceImportSpec) -> Option<&str> {
    spec.traffic_distribution.as_deref().filter(|value| DISTRIBUTIONS.contains(value))
}

/// The ports of the Service: those of the import, each with a name where it needs one. With a selector they lead where those of the
/// exported Service do.
fn wanted_ports(list: &[ServiceImportPort], selector: Selector<'_>) -> Vec<ServicePort> {
    let names = ports::names(list).into_iter();
    let target = |port: &ServiceImportPort| {
        let Selector::Of(exported) = selector else { return None };
        let is_same = |of: &&ServicePort| of.name.as_deref().unwrap_or_default() == port.name;
        Some(target_port(exported.ports.iter().find(is_same)?))
    };
    let port = |(port, name): (&ServiceImportPort, String)| ServicePort {
        name: (!name.is_empty()).then_some(name),
        protocol: Protocol::from(ports::protocol(port)),
        app_protocol: port.app_protocol.clone(),
        port: port.port,
        target_port: target(port),
    };
    list.iter().zip(names).map(port).collect()
}

/// Where a port leads; API servers fill it in.
fn target_port(port: &ServicePort) -> IntOrString {
    port.target_port.clone().unwrap_or(IntOrString::Int(port.port))
}

/// Whether the ports of a Service need no write.
fn are_ports_right(service: &Service, wanted: &[ServicePort], selector: Selector<'_>) -> bool {
    let targets = |ports: &[ServicePort]| -> BTreeMap<Option<String>, IntOrString> {
        ports.iter().map(|port| (port.name.clone(), target_port(port))).collect()
    };
    let are_same = || port_lists::same_for_clients(&service.ports, wanted);
    match selector {
        Selector::None => are_same(),
        Selector::Kept => true,
        Selector::Of(_) => are_same() && targets(&service.ports) == targets(wanted),
    }
}

/// Whether Kubernetes gives a Service with a selector the endpoints that it gives the exported one.
pub(super) fn follows(service: &Service, target: &Target, exported: &Object<Service>) -> bool {
    let selector = Selector::Of(exported);
    service.selector == exported.selector
        && service.publish_not_ready == exported.publish_not_ready
        && are_ports_right(service, &wanted_ports(&target.spec.ports, selector), selector)
}

/// Gives the Service its selector, with what else decides who its endpoints are, or takes it away.
///
/// With a selector, Kubernetes makes Endpoints of the Service, too, and keeps them when it goes. The label keeps it from making
/// EndpointSlices of those then.
fn selecting(service: &Service, selector: Selector<'_>) -> Vec<Value> {
    let mut operations = Vec::new();
    let mark = ["metadata", "annotations", annotations::LOCAL_ENDPOINTS];
    let is_marked = service.meta.annotation(annotations::LOCAL_ENDPOINTS).is_some();
    let not_ready = ["spec", "publishNotReadyAddresses"];
    let label = ["metadata", "labels", labels::SKIP_MIRROR];
    let is_labelled = service.meta.label(labels::SKIP_MIRROR) == Some("true");
    match selector {
        Selector::Kept => {}
        Selector::None => {
            if !service.selector.is_empty() {
                operations.push(remove(&["spec", "selector"]));
            }
            if is_marked {
                operations.push(remove(&mark));
                operations.push(add(&not_ready, json!(false)));
                operations.extend(is_labelled.then(|| remove(&label)));
            }
        }
        Selector::Of(exported) => {
            if service.selector != exported.selector {
                let pairs = exported.selector.iter();
                let pairs = pairs.map(|(key, value)| (key.to_string(), json!(value.to_string())));
                let selector = Value::Object(pairs.collect());
                operations.push(add(&["spec", "selector"], selector));
            }
            if !is_marked {
                operations.push(add(&mark, json!("Kubernetes")));
            }
            if service.meta.labels.is_empty() {
                let labels = json!({ labels::SKIP_MIRROR: "true" });
                operations.push(add(&["metadata", "labels"], labels));
            } else if !is_labelled {
                operations.push(add(&label, json!("true")));
            }
            if service.publish_not_ready != exported.publish_not_ready {
                operations.push(add(&not_ready, json!(exported.publish_not_ready)));
            }
        }
    }
    operations
}

/// Undoes what others changed, and follows the import; `None` if there is nothing to do.
pub(super) fn repair(
    state: &ServiceState<'_>,
    import: &Import,
    target: &Target,
    families: Option<&Families>,
    service: &Object<Service>,
    selector: Selector<'_>,
) -> Option<Step> {
    let mut operations = marks(state, import, service);
    let spec = &target.spec;
    let mut set = |field: &str, value: Value| operations.push(add(&["spec", field], value));
    if service.service_type != "ClusterIP" {
        set("type", json!("ClusterIP"));
    }
    let ports = wanted_ports(&spec.ports, selector);
    if !are_ports_right(service, &ports, selector) {
        set("ports", to_json(&ports));
    }
    if service.session_affinity != affinity(spec)
        || service.affinity_timeout_seconds != timeout(spec)
    {
        set("sessionAffinity", json!(affinity(spec).as_str()));
        set("sessionAffinityConfig", affinity_config(spec).map_or(Value::Null, |it| to_json(&it)));
    }
    let policy = spec.internal_traffic_policy.unwrap_or_default();
    if service.internal_traffic_policy != policy {
        set("internalTrafficPolicy", json!(policy.as_str()));
    }
    if service.traffic_distribution.as_deref() != distribution(spec) {
        set("trafficDistribution", json!(distribution(spec)));
    }
    if let Some(families) = families.filter(|families| !families.are_those_of(service)) {
        set("ipFamilyPolicy", json!(families.policy));
        set("ipFamilies", json!(families.list));
        // Removed addresses have to be named: the API server drops none by itself.
        if families.list.len() < service.cluster_ips.len() {
            let kept: Vec<_> = service.cluster_ips.iter().take(families.list.len()).collect();
            set("clusterIPs", json!(kept));
        }
    }
    if !service.external_ips.is_empty() {
        operations.push(remove(&["spec", "externalIPs"]));
    }
    // Another admission policy may refuse a selector: the rest is written before it. One that goes or changes does so with the ports
    // that it led to.
    let gives = matches!(selector, Selector::Of(_)) && service.selector.is_empty();
    if !gives || operations.is_empty() {
        operations.extend(selecting(service, selector));
    }
    (!operations.is_empty()).then(|| LOCAL.patch(service, operations).stage("mcs_import"))
}

/// The annotation by which the Service is known as an import, and the owner that takes it along.
fn marks(state: &ServiceState<'_>, import: &Import, service: &Object<Service>) -> Vec<Value> {
    let mut operations = Vec::new();
    if service.imports().as_ref() != Some(state.service) {
        let mark = state.service.to_string();
        operations.push(if service.meta.annotations.is_empty() {
            add(&["metadata", "annotations"], json!({ annotations::FLEET_SERVICE: mark }))
        } else {
            add(&["metadata", "annotations", annotations::FLEET_SERVICE], json!(mark))
        });
    }
    let mut owners = service.meta.owners.iter();
    if !owners.any(|owner| *owner.uid == *import.uid.to_string()) {
        let owner = to_json(&owner_reference(import));
        let mut owners: Vec<_> = service.meta.owners.iter().map(to_json).collect();
        owners.push(owner);
        operations.push(add(&["metadata", "ownerReferences"], json!(owners)));
    }
    operations
}

/// Whether ports of the target wait until the selector is gone.
pub(super) fn defers_ports(service: &Service, target: &Target, selector: Selector<'_>) -> bool {
    let wanted = wanted_ports(&target.spec.ports, selector);
    matches!(selector, Selector::Kept) && !port_lists::same_for_clients(&service.ports, &wanted)
}

/// Deletes a Service that was derived, after these steps.
pub(super) fn delete(
    service: &Object<Service>,
    after: &[StepId],
    plan: &mut Plan,
) -> Option<StepId> {
    if service.meta.is_terminating() {
        return None;
    }
    Some(plan.push(LOCAL.delete(service).after(after.iter().copied())))
}
