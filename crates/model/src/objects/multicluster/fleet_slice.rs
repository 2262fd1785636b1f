//! Exported slices of all members, as an importer keeps them.

use std::sync::{Arc, LazyLock};

use fleet_accumulator::{Object, Shared, Tracked, Uid, shared_name, shared_text, wire};
use fleet_api::names::member_of_namespace;
use fleet_api::{
    AddressType, Endpoint, EndpointPort, ExportedSliceSpec, ObjectName, ResourceKind, TraceContext,
    annotations, kinds,
};
use jiff::Timestamp;
use parking_lot::Mutex;

use super::endpoint_details::EndpointDetails;
use crate::limits::{self, Excess};
use crate::objects::EndpointSliceExport;
use crate::objects::endpoint_list::{Builder, EndpointList};
use crate::objects::missing::MISSING;
use crate::weight;

wire! {
    /// An EndpointSliceExport on the wire.
    pub struct FleetSliceWire as fleet_api::v1alpha1::EndpointSliceExport {
        spec: Option<ExportedSliceSpec>,
    }
}

/// An `EndpointSliceExport` of any member, in a form that an importer can keep ten thousand of.
///
/// [`EndpointSliceExport`](crate::objects::EndpointSliceExport) holds all that its own exporter and the hub need.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetSlice {
    /// The member that its namespace belongs to, and the Service whose endpoints it carries; `None` if its references
    /// contradict that or each other.
    pub origin: Option<(Arc<str>, ObjectName)>,
    /// Uid of the exported slice.
    pub slice_uid: Uid,
    /// Generation of the exported slice.
    pub slice_generation: i64,
    /// When, by the exporting member's clock, this generation was first seen.
    pub exported_since: Option<Timestamp>,
    /// Kind of the addresses.
    pub address_type: AddressType,
    /// Ports, verbatim.
    pub ports: Arc<Vec<EndpointPort>>,
    /// Whether it is being deleted.
    pub terminating: bool,
    /// Trace of the write that led to its current content.
    pub trace: Option<TraceContext>,
    /// The weight that its exporter gives itself.
    pub weight: u16,
    /// What exceeds a bound, if anything does.
    pub excess: Option<Excess>,
    ready: EndpointList,
    draining: EndpointList,
    details: EndpointDetails,
}

/// Ports of slices, shared because many Services have the same.
static PORTS: LazyLock<Mutex<Shared<Vec<EndpointPort>>>> = LazyLock::new(Mutex::default);

impl FleetSlice {
    /// The member whose endpoints these are.
    pub fn cluster(&self) -> Option<&str> {
        self.origin.as_ref().map(|(cluster, _)| &**cluster)
    }

    /// The Service whose endpoints it carries.
    pub fn service(&self) -> Option<&ObjectName> {
        self.origin.as_ref().map(|(_, service)| service)
    }

    /// Number of endpoints.
    pub fn len(&self) -> usize {
        self.ready.len() + self.draining.len()
    }

    /// Whether it has no endpoints.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What an importer keeps of a slice of which all is known.
    pub fn of(export: &Object<EndpointSliceExport>) -> Self {
        let trace = export.meta.annotation(annotations::TRACEPARENT);
        Self {
            terminating: export.meta.is_terminating(),
            trace: trace.and_then(TraceContext::parse),
            weight: weight::carried(export.meta.annotation(annotations::WEIGHT)),
            excess: export.excess.clone(),
            ..Self::of_spec(&export.name.namespace, (*export.spec).clone())
        }
    }

    /// The content of a slice in the namespace of a member.
    fn of_spec(namespace: &str, spec: ExportedSliceSpec) -> Self {
        let reference = &spec.endpoint_slice_reference;
        Self {
            origin: origin(namespace, &spec),
            slice_uid: reference.uid.as_str().into(),
            slice_generation: reference.generation,
            exported_since: reference.exported_since.as_ref().map(|time| time.0),
            terminating: false,
            trace: None,
            weight: weight::USUAL,
            excess: None,
            ready: list(&spec.endpoints),
            draining: list(&spec.draining_endpoints),
            details: EndpointDetails::of(spec.endpoints.iter().chain(&spec.draining_endpoints)),
            address_type: spec.address_type,
            ports: PORTS.lock().share(spec.ports),
        }
    }

    /// The members that run endpoints of it in place of the exporter, as it states; one can be among them more than once.
    pub fn executors(&self) -> impl Iterator<Item = &str> {
        self.details.executors()
    }

    /// The ready endpoints and the draining ones, with host names, zones and executors.
    pub fn endpoints(&self) -> (Vec<Endpoint>, Vec<Endpoint>) {
        let (mut ready, mut draining) = (self.ready.to_vec(), self.draining.to_vec());
        self.details.add(ready.iter_mut().chain(&mut draining));
        (ready, draining)
    }
}

impl Tracked for FleetSlice {
    const KIND: ResourceKind = kinds::ENDPOINT_SLICE_EXPORT;
    type Wire = FleetSliceWire;
    type Index = ObjectName;

    fn project(wire: FleetSliceWire) -> Result<Self, String> {
        let mut spec = wire.spec.ok_or(MISSING)?;
        let excess = limits::of_slice(&spec);
        if excess.is_some() {
            // No member imports it.
            (spec.endpoints, spec.draining_endpoints, spec.ports) = Default::default();
        }
        let namespace = wire.metadata.namespace.as_deref().unwrap_or_default();
        let annotation = |key: &str| {
            let annotations = wire.metadata.annotations.as_ref();
            annotations.and_then(|annotations| annotations.get(key)).map(String::as_str)
        };
        Ok(Self {
            terminating: wire.metadata.deletion_timestamp.is_some(),
            trace: annotation(annotations::TRACEPARENT).and_then(TraceContext::parse),
            weight: weight::carried(annotation(annotations::WEIGHT)),
            excess,
            ..Self::of_spec(namespace, spec)
        })
    }

    /// By the Service whose endpoints it carries.
    fn index(&self, _: &ObjectName) -> Vec<ObjectName> {
        self.service().cloned().into_iter().collect()
    }
}

/// A slice belongs to the member of its namespace, and backs a Service in its own namespace on that member, never in another.
fn origin(namespace: &str, spec: &ExportedSliceSpec) -> Option<(Arc<str>, ObjectName)> {
    let cluster = member_of_namespace(namespace)?;
    let slice = spec.endpoint_slice_reference.object()?;
    let service = spec.owner_service_reference.object()?;
    let consistent =
        spec.endpoint_slice_reference.cluster_id == cluster && slice.namespace == service.namespace;
    consistent.then(|| (shared_text(cluster), shared_name(&service)))
}

fn list(endpoints: &[Endpoint]) -> EndpointList {
    let mut list = Builder::default();
    for endpoint in endpoints {
        list.push(&endpoint.addresses);
    }
    list.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn reference(cluster: &str, namespace: &str) -> Value {
        json!({
            "clusterId": cluster, "kind": "EndpointSlice", "namespace": namespace, "name": "web-1",
            "namespacedName": format!("{namespace}/web-1"), "resourceVersion": "7",
            "generation": 3, "uid": "slice",
        })
    }

    fn object(cluster: &str, namespace: &str) -> Value {
        json!({
            "metadata": {
                "name": "east-shop-web-1", "namespace": "fleet-member-east",
                "annotations": { annotations::WEIGHT: "7" },
            },
            "spec": {
                "addressType": "IPv4",
                "endpoints": [
                    { "addresses": ["10.0.0.1"], "hostname": "web-0", "zone": "a" },
                    { "addresses": ["10.0.0.2"] },
                ],
                "drainingEndpoints": [{ "addresses": ["10.0.0.3"], "zone": "b" }],
                "endpointSliceReference": reference(cluster, namespace),
                "ownerServiceReference": {
                    "namespace": "shop", "name": "web", "namespacedName": "shop/web",
                },
            },
        })
    }

    fn slice(cluster: &str, namespace: &str) -> FleetSlice {
        let object = object(cluster, namespace);
        FleetSlice::project(serde_json::from_value(object).unwrap()).unwrap()
    }

    #[test]
    fn a_slice_belongs_to_the_member_of_its_namespace() {
        let own = slice("east", "shop");
        assert_eq!(
            (own.cluster(), own.service()),
            (Some("east"), Some(&ObjectName::new("shop", "web")))
        );
        assert_eq!(slice("west", "shop").origin, None);
        assert_eq!(slice("east", "other").origin, None);
    }

    /// A program that has read all of a slice sees what an importer sees.
    #[test]
    fn both_forms_of_a_slice_agree() {
        let object = object("east", "shop");
        let whole = serde_json::from_value(object.clone()).unwrap();
        let whole = EndpointSliceExport::project(whole).unwrap();
        let name = ObjectName::new("fleet-member-east", "east-shop-web-1");
        let whole = Object::new(name, "u".into(), "1".into(), whole);
        let read = FleetSlice::project(serde_json::from_value(object).unwrap()).unwrap();
        assert_eq!(FleetSlice::of(&whole), read);
    }

    #[test]
    fn endpoints_keep_their_details() {
        let (ready, draining) = slice("east", "shop").endpoints();
        let text = |endpoint: &Endpoint| {
            let Endpoint { addresses, hostname, zone, .. } = endpoint;
            format!("{} {hostname:?} {zone:?}", addresses.concat())
        };
        assert_eq!(
            ready.iter().chain(&draining).map(text).collect::<Vec<_>>(),
            [
                r#"10.0.0.1 Some("web-0") Some("a")"#,
                "10.0.0.2 None None",
                r#"10.0.0.3 None Some("b")"#
            ]
        );
    }
}
