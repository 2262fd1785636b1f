//! EndpointSlices: those of users' Services and those imported.

use std::fmt;
use std::sync::{Arc, LazyLock};

use fleet_accumulator::{Meta, Shared, Tracked, wire};
use fleet_api::{
    AddressType, Endpoint, EndpointPort, ObjectName, ResourceKind, annotations, kinds, labels,
};
use k8s_openapi::api::discovery::v1::{self as discovery, EndpointConditions};
use parking_lot::Mutex;
use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};

use super::endpoint_list::{Builder, EndpointList};
use super::multicluster::endpoint_details::{Builder as Details, EndpointDetails};
use super::multicluster::endpoint_nodes::EndpointNodes;

wire! {
    /// An EndpointSlice on the wire; the kind has no spec.
    pub struct EndpointSliceWire as discovery::EndpointSlice {
        address_type: String,
        endpoints: SortedEndpoints,
        ports: Option<Vec<discovery::EndpointPort>>,
    }
}

/// Endpoints by the traffic they take. Each is decoded separately: an endpoint on the wire is ten times as large as
/// what is kept of it, and a page of a list holds thousands.
#[derive(Clone, Debug, Default)]
pub struct SortedEndpoints {
    ready: EndpointList,
    draining: EndpointList,
    /// Host names and zones of the ready endpoints and of the draining ones.
    details: EndpointDetails,
    /// Their Nodes, and those of the unready ones.
    nodes: EndpointNodes,
    /// Whether any endpoint differs from what [`imported_endpoints`] writes.
    foreign: bool,
    unready: u32,
}

/// The content of an EndpointSlice that exporting and importing need.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointSlice {
    /// Metadata.
    pub meta: Meta,
    /// Kind of the addresses.
    pub address_type: AddressType,
    /// The ready endpoints (`ready` true or absent), addresses only, in their order.
    pub ready: EndpointList,
    /// The terminating endpoints that still serve, addresses only, in their order.
    pub draining: EndpointList,
    /// Whether the endpoints are those two lists and nothing else, as [`imported_endpoints`] writes
    /// them.
    pub plain: bool,
    /// Ports, verbatim.
    pub ports: Arc<Vec<EndpointPort>>,
    /// Host names and zones of the ready endpoints and of the draining ones.
    details: EndpointDetails,
    nodes: EndpointNodes,
    unready: u32,
}

/// Ports of slices, shared because many Services have the same.
static PORTS: LazyLock<Mutex<Shared<Vec<EndpointPort>>>> = LazyLock::new(Mutex::default);

/// Index keys of an EndpointSlice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SliceIndex {
    /// By the Service of its own cluster that it backs.
    Backs(ObjectName),
    /// By the Service of the fleet that it was imported for.
    ImportedFor(ObjectName),
}

impl EndpointSlice {
    /// The ready endpoints and the draining ones, with host names and zones.
    pub fn detailed(&self) -> (Vec<Endpoint>, Vec<Endpoint>) {
        let (mut ready, mut draining) = (self.ready.to_vec(), self.draining.to_vec());
        self.details.add(ready.iter_mut().chain(&mut draining));
        (ready, draining)
    }

    /// The Nodes of the ready endpoints, then of the draining ones.
    pub fn nodes(&self) -> impl Iterator<Item = Option<&str>> {
        let nodes = self.nodes.iter().map(Some).chain(std::iter::repeat(None));
        nodes.take(self.ready.len() + self.draining.len()).map(Option::flatten)
    }

    /// The Nodes of the endpoints that are neither ready nor terminating.
    pub fn nodes_of_unready(&self) -> impl Iterator<Item = Option<&str>> {
        let nodes = self.nodes.iter().map(Some).chain(std::iter::repeat(None));
        let nodes = nodes.skip(self.ready.len() + self.draining.len());
        nodes.take(self.unready()).map(Option::flatten)
    }

    /// The number of its endpoints that are neither ready nor terminating.
    pub fn unready(&self) -> usize {
        self.unready as usize
    }

    /// The Service of its own cluster that a slice of `namespace` backs.
    pub fn backs(&self, namespace: &str) -> Option<ObjectName> {
        let service = labels::backed_service(|key| self.meta.label(key))?;
        Some(ObjectName::new(namespace, service))
    }

    /// The Service of the fleet that it was imported for.
    pub fn imported_for(&self) -> Option<ObjectName> {
        ObjectName::parse(self.meta.annotation(annotations::FLEET_SERVICE)?)
    }

    /// Whether a member agent, this one or the Go one, imported it.
    pub fn is_imported(&self) -> bool {
        self.meta.label(labels::MANAGED_BY) == Some(labels::MANAGED_BY_IMPORT)
            || self.imported_for().is_some()
    }

    /// Whether any implementation of the standard API imported it.
    pub fn is_of_clusterset(&self) -> bool {
        self.meta.label(labels::MULTICLUSTER_SERVICE_NAME).is_some()
    }

    /// Whether this agent imported it by the standard API.
    pub fn is_imported_by_standard(&self) -> bool {
        self.meta.label(labels::MANAGED_BY) == Some(labels::MANAGED_BY_MULTICLUSTER)
    }
}

impl Tracked for EndpointSlice {
    const KIND: ResourceKind = kinds::ENDPOINT_SLICE;
    type Wire = EndpointSliceWire;
    type Index = SliceIndex;

    fn project(wire: EndpointSliceWire) -> Result<Self, String> {
        let SortedEndpoints { ready, draining, details, nodes, foreign, unready } = wire.endpoints;
        let ports = wire.ports.unwrap_or_default().iter().map(EndpointPort::from).collect();
        Ok(Self {
            meta: Meta::from_object(&wire.metadata),
            address_type: AddressType::from(wire.address_type.as_str()),
            ready,
            draining,
            plain: !foreign,
            ports: PORTS.lock().share(ports),
            details,
            nodes,
            unready,
        })
    }

    fn index(&self, name: &ObjectName) -> Vec<SliceIndex> {
        let backs = self.backs(&name.namespace).map(SliceIndex::Backs);
        backs.into_iter().chain(self.imported_for().map(SliceIndex::ImportedFor)).collect()
    }
}

impl<'de> Deserialize<'de> for SortedEndpoints {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(EndpointsVisitor)
    }
}

struct EndpointsVisitor;

impl<'de> Visitor<'de> for EndpointsVisitor {
    type Value = SortedEndpoints;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of endpoints")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut endpoints: A) -> Result<SortedEndpoints, A::Error> {
        let (mut ready, mut draining) = (Builder::default(), Builder::default());
        let (mut first, mut then) = (Details::default(), Details::default());
        let (mut on_first, mut on_then, mut on_out) = (Vec::new(), Vec::new(), Vec::new());
        let (mut foreign, mut last, mut unready) = (false, State::Ready, 0);
        while let Some(endpoint) = endpoints.next_element::<discovery::Endpoint>()? {
            let state = State::of(&endpoint);
            foreign |= !is_plain(&endpoint) || state < last;
            last = state;
            match state {
                State::Ready => {
                    ready.push(&endpoint.addresses);
                    first.push(endpoint.hostname.as_deref(), endpoint.zone.as_deref(), None);
                    on_first.push(endpoint.node_name);
                }
                State::Draining => {
                    draining.push(&endpoint.addresses);
                    then.push(endpoint.hostname.as_deref(), endpoint.zone.as_deref(), None);
                    on_then.push(endpoint.node_name);
                }
                State::Out if is_terminating(&endpoint) => {}
                State::Out => {
                    unready += 1;
                    on_out.push(endpoint.node_name);
                }
            }
        }
        let (ready, draining, details) = (ready.finish(), draining.finish(), first.finish(&then));
        let nodes = on_first.iter().chain(&on_then).chain(&on_out).map(Option::as_deref);
        let nodes = EndpointNodes::of(nodes);
        Ok(SortedEndpoints { ready, draining, details, nodes, foreign, unready })
    }
}

/// The traffic that an endpoint takes, in the order in which imported slices list endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    /// Takes traffic. An unset `ready` counts as true (EndpointSlice API).
    Ready,
    /// Takes traffic if no ready endpoint is left. An unset `serving` has the value of `ready`, an unset `terminating`
    /// counts as false: only an endpoint with both set to true is draining.
    Draining,
    /// Takes no traffic.
    Out,
}

impl State {
    fn of(endpoint: &discovery::Endpoint) -> Self {
        let Some(conditions) = &endpoint.conditions else { return Self::Ready };
        if conditions.ready.unwrap_or(true) {
            Self::Ready
        } else if *conditions == draining() {
            Self::Draining
        } else {
            Self::Out
        }
    }
}

fn is_terminating(endpoint: &discovery::Endpoint) -> bool {
    let conditions = endpoint.conditions.as_ref();
    conditions.and_then(|conditions| conditions.terminating).unwrap_or(false)
}

fn draining() -> EndpointConditions {
    let (ready, serving, terminating) = (Some(false), Some(true), Some(true));
    EndpointConditions { ready, serving, terminating }
}

/// Builds the endpoints of an imported slice. Ready ones carry no conditions, as the Go agents write them.
pub fn imported_endpoints(ready: &[Endpoint], draining: &[Endpoint]) -> Vec<discovery::Endpoint> {
    let endpoint = |endpoint: &Endpoint, conditions| discovery::Endpoint {
        addresses: endpoint.addresses.clone(),
        conditions,
        ..discovery::Endpoint::default()
    };
    let ready = ready.iter().map(|ready| endpoint(ready, None));
    let draining = draining.iter().map(|last| endpoint(last, Some(self::draining())));
    ready.chain(draining).collect()
}

/// Whether [`imported_endpoints`] could have written the endpoint. API servers fill in empty conditions.
fn is_plain(endpoint: &discovery::Endpoint) -> bool {
    let discovery::Endpoint {
        addresses: _,
        conditions,
        deprecated_topology: None,
        hints: None,
        hostname: None,
        node_name: None,
        target_ref: None,
        zone: None,
    } = endpoint
    else {
        return false;
    };
    let conditions = conditions.clone().unwrap_or_default();
    conditions == EndpointConditions::default() || conditions == draining()
}

#[cfg(test)]
mod tests {
    use fleet_accumulator::Tracked;
    use serde_json::{Value, json};

    use super::*;

    fn project(endpoints: &Value) -> EndpointSlice {
        let slice = json!({
            "metadata": { "name": "s", "namespace": "n" },
            "addressType": "IPv4",
            "endpoints": endpoints,
        });
        EndpointSlice::project(serde_json::from_value(slice).unwrap()).unwrap()
    }

    /// MES-19 with the conditions that the original ignores; serving endpoints travel apart.
    #[test]
    fn conditions_decide_which_list_an_endpoint_is_in() {
        let table = [
            (json!(null), "ready"),
            (json!({}), "ready"),
            (json!({ "ready": true }), "ready"),
            (json!({ "ready": true, "serving": true, "terminating": true }), "ready"),
            (json!({ "ready": false }), "out"),
            (json!({ "ready": false, "serving": true }), "out"),
            (json!({ "ready": false, "terminating": true }), "out"),
            (json!({ "ready": false, "serving": false, "terminating": true }), "out"),
            (json!({ "ready": false, "serving": true, "terminating": false }), "out"),
            (json!({ "ready": false, "serving": true, "terminating": true }), "draining"),
        ];
        for (conditions, expected) in table {
            let slice =
                project(&json!([{ "addresses": ["10.0.0.1"], "conditions": conditions.clone() }]));
            let list = match (slice.ready.len(), slice.draining.len()) {
                (1, 0) => "ready",
                (0, 1) => "draining",
                _ => "out",
            };
            assert_eq!(list, expected, "{conditions}");
        }
    }

    /// Such endpoints are in neither list; how many there are shows how many there could be.
    #[test]
    fn endpoints_that_are_neither_ready_nor_terminating_are_counted() {
        let table = [
            (json!({}), 0),
            (json!({ "ready": false }), 1),
            (json!({ "ready": false, "serving": false, "terminating": false }), 1),
            (json!({ "ready": false, "serving": true }), 1),
            (json!({ "ready": false, "serving": true, "terminating": true }), 0),
            (json!({ "ready": false, "serving": false, "terminating": true }), 0),
        ];
        for (conditions, expected) in table {
            let endpoint = json!({ "addresses": ["10.0.0.1"], "conditions": conditions });
            assert_eq!(project(&json!([endpoint])).unready(), expected, "{endpoint}");
        }
    }

    #[test]
    fn each_endpoint_keeps_its_node() {
        let slice = project(&json!([
            { "addresses": ["10.0.0.3"], "nodeName": "c",
                "conditions": { "ready": false, "serving": true, "terminating": true } },
            { "addresses": ["10.0.0.1"], "nodeName": "a" },
            { "addresses": ["10.0.0.2"] },
        ]));
        assert!(slice.nodes().eq([Some("a"), None, Some("c")]));
        assert!(project(&json!([{ "addresses": ["10.0.0.1"] }])).nodes().eq([None]));
    }

    #[test]
    fn only_endpoints_as_imported_slices_list_them_are_plain() {
        let endpoint = |last: &str| Endpoint::new(vec![format!("10.0.0.{last}")]);
        let written = imported_endpoints(&[endpoint("1"), endpoint("2")], &[endpoint("3")]);
        let written = serde_json::to_value(written).unwrap();
        let slice = project(&written);
        assert!(slice.plain);
        assert_eq!(slice.ready.to_vec(), [endpoint("1"), endpoint("2")]);
        assert_eq!(slice.draining.to_vec(), [endpoint("3")]);

        let mut filled = written.clone();
        filled[0]["conditions"] = json!({});
        assert!(project(&filled).plain, "the server fills in empty conditions");

        let edits: [fn(&mut Value); 5] = [
            |list| list[0]["nodeName"] = json!("node"),
            |list| list[0]["conditions"] = json!({ "ready": true }),
            |list| list[0]["conditions"] = json!({ "ready": false }),
            |list| list[2]["hostname"] = json!("host"),
            |list| list.as_array_mut().unwrap().reverse(),
        ];
        for (at, edit) in edits.into_iter().enumerate() {
            let mut edited = written.clone();
            edit(&mut edited);
            assert!(!project(&edited).plain, "edit {at}");
        }
    }
}
