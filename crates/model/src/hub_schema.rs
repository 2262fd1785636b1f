//! Which of the fields that we add to the original's kinds a hub serves.
//!
//! A hub may run with the original's definitions. A server prunes an unknown field, so that an agent
//! that insists on it writes for ever, and rejects an unknown value. So agents send and compare only
//! what is served. They read it from the `OpenAPI` document, which every authenticated client may read,
//! while the definitions themselves take a right that members do not have.

use fleet_accumulator::{Document, Feed, Object, OpenApiFeed, SourceSpec, Tracked, View};
use fleet_api::{AddressType, Endpoint, ExportedSliceSpec, ObjectName, ResourceKind};
use serde_json::{Value, json};

/// The group and version whose `OpenAPI` document [`HubSchema::of`] reads.
pub const GROUP_VERSION: &str = "networking.fleet.azure.com/v1alpha1";

/// Both kinds that carry slices have to have a field, for agents write one and read the other.
const KINDS: [&str; 2] = ["EndpointSliceExport", "EndpointSliceImport"];

/// What slices can carry on a hub beside what the original's do.
///
/// Plans get an `Option` of it, see [`HubSchema::known`]: until it is known, nothing is sent that was not
/// sent before, and nothing is withdrawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent facts, one field of the definitions each"
)]
pub struct HubSchema {
    /// Endpoints that drain, in a list of their own.
    pub draining_endpoints: bool,
    /// IPv6 addresses.
    pub ipv6: bool,
    /// Host names and zones of endpoints.
    pub endpoint_details: bool,
    /// Which members run endpoints.
    pub executors: bool,
}

impl HubSchema {
    /// Our own definitions.
    pub const OURS: Self =
        Self { draining_endpoints: true, ipv6: true, endpoint_details: true, executors: true };
    /// The original's.
    pub const ORIGINAL: Self =
        Self { draining_endpoints: false, ipv6: false, endpoint_details: false, executors: false };

    /// Reads the `OpenAPI` (version 3) document of [`GROUP_VERSION`]; `None` if it lacks the kinds.
    pub fn of(document: &Value) -> Option<Self> {
        let schemas = document["components"]["schemas"].as_object()?;
        let of_kind = |kind: &str| schemas.values().find(|schema| is_of_kind(schema, kind));
        let mut served = Self::OURS;
        for kind in KINDS {
            let spec = &of_kind(kind)?["properties"]["spec"];
            served.draining_endpoints &= has(spec, "drainingEndpoints");
            served.endpoint_details &= endpoints_have(spec, &["hostname", "zone"]);
            served.executors &= endpoints_have(spec, &["executor"]);
            served.ipv6 &= allows(&spec["properties"]["addressType"], AddressType::IPv6.as_str());
        }
        Some(served)
    }

    /// What a snapshot knows of it; `None` if the document was not read yet, is not there, or lacks the kinds.
    pub fn known(view: &View<Self>) -> Option<Self> {
        let unread = view.defects().next().is_some();
        view.iter().next().filter(|_| !unread).map(|schema| *schema.object)
    }

    /// The view of a hub with this schema, for what reads snapshots without watches.
    pub fn view(known: Option<Self>) -> View<Self> {
        let name = ObjectName::cluster(GROUP_VERSION);
        View::of(known.map(|schema| Object::new(name, GROUP_VERSION.into(), "1".into(), schema)))
    }

    /// The object that an API server in memory holds under [`GROUP_VERSION`] to serve this schema.
    pub fn object(self) -> Value {
        let mut spec = json!({ "properties": { "addressType": { "enum": ["IPv4"] } } });
        if self.ipv6 {
            spec["properties"]["addressType"]["enum"] = json!(["IPv4", "IPv6"]);
        }
        if self.draining_endpoints {
            spec["properties"]["drainingEndpoints"] = json!({});
        }
        let mut of_endpoint = |name: &str| {
            spec["properties"]["endpoints"]["items"]["properties"][name] = json!({});
        };
        if self.endpoint_details {
            ["hostname", "zone"].into_iter().for_each(&mut of_endpoint);
        }
        if self.executors {
            of_endpoint("executor");
        }
        let schemas = KINDS.map(|kind| {
            json!({
                "properties": { "spec": spec },
                "x-kubernetes-group-version-kind": [{ "kind": kind }],
            })
        });
        json!({ "document": { "components": { "schemas": {
            KINDS[0]: schemas[0], KINDS[1]: schemas[1],
        }}}})
    }
}

impl Tracked for HubSchema {
    const KIND: ResourceKind = ResourceKind {
        group: "networking.fleet.azure.com",
        version: "v1alpha1",
        kind: "OpenAPI",
        plural: "openapi",
        namespaced: false,
    };
    type Wire = Document;
    type Index = ();

    fn project(wire: Document) -> Result<Self, String> {
        Self::of(&wire.document).ok_or_else(|| format!("it lacks {}", KINDS.join(" or ")))
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }

    fn feed(spec: SourceSpec) -> Box<dyn Feed<Document>> {
        Box::new(OpenApiFeed::new(spec.client, GROUP_VERSION))
    }
}

fn is_of_kind(schema: &Value, kind: &str) -> bool {
    let kinds = schema["x-kubernetes-group-version-kind"].as_array();
    kinds.is_some_and(|kinds| kinds.iter().any(|of| of["kind"] == kind))
}

fn has(schema: &Value, property: &str) -> bool {
    let open = schema["x-kubernetes-preserve-unknown-fields"] == Value::Bool(true);
    open || schema["properties"].get(property).is_some()
}

/// Whether endpoints have these fields; both lists of endpoints have one schema, and a hub may lack one of them.
fn endpoints_have(spec: &Value, fields: &[&str]) -> bool {
    let open = spec["x-kubernetes-preserve-unknown-fields"] == Value::Bool(true);
    let endpoint = &spec["properties"]["endpoints"]["items"];
    open || fields.iter().all(|field| has(endpoint, field))
}

fn allows(schema: &Value, value: &str) -> bool {
    schema["enum"].as_array().is_none_or(|values| values.iter().any(|allowed| allowed == value))
}

/// Whether slices of this kind of addresses travel; `None` if that is not known yet.
pub fn carries(schema: Option<HubSchema>, address_type: &AddressType) -> Option<bool> {
    match address_type {
        AddressType::IPv4 => Some(true),
        AddressType::IPv6 => schema.map(|schema| schema.ipv6),
        AddressType::Other(_) => Some(false),
    }
}

/// Whether a slice on the hub can carry draining endpoints. While the schema is unknown, a slice that carries some
/// proves that it can.
pub fn carries_draining(schema: Option<HubSchema>, carried: &[Endpoint]) -> bool {
    schema.map_or(!carried.is_empty(), |schema| schema.draining_endpoints)
}

/// Whether a slice on the hub can carry host names and zones. While the schema is unknown, a slice that carries some proves
/// that it can.
pub fn carries_details(schema: Option<HubSchema>, carried: &[Endpoint]) -> bool {
    let has_details = |endpoint: &Endpoint| endpoint.hostname.is_some() || endpoint.zone.is_some();
    schema.map_or_else(|| carried.iter().any(has_details), |schema| schema.endpoint_details)
}

/// Whether a slice on the hub can carry which members run its endpoints. While the schema is unknown, a slice that carries some
/// proves that it can.
pub fn carries_executors(schema: Option<HubSchema>, carried: &ExportedSliceSpec) -> bool {
    let mut carried = carried.endpoints.iter().chain(&carried.draining_endpoints);
    schema.map_or_else(
        || carried.any(|endpoint| endpoint.executor.is_some()),
        |schema| schema.executors,
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kind(name: &str, spec: &Value) -> Value {
        json!({
            "type": "object",
            "properties": { "spec": spec },
            "x-kubernetes-group-version-kind": [{ "group": "g", "kind": name, "version": "v" }],
        })
    }

    fn document(export: &Value, import: &Value) -> Value {
        json!({ "components": { "schemas": {
            "io.k8s.ObjectMeta": { "type": "object" },
            "a": kind("EndpointSliceExport", export),
            "b": kind("EndpointSliceImport", import),
        }}})
    }

    fn original() -> Value {
        json!({ "properties": { "addressType": { "enum": ["IPv4"] }, "endpoints": {} } })
    }

    fn ours() -> Value {
        json!({ "properties": {
            "addressType": { "enum": ["IPv4", "IPv6"] },
            "endpoints": { "items": { "properties": { "hostname": {}, "zone": {}, "executor": {} } } },
            "drainingEndpoints": {},
        }})
    }

    #[test]
    fn the_definitions_tell_what_is_served() {
        assert_eq!(HubSchema::of(&document(&ours(), &ours())), Some(HubSchema::OURS));
        assert_eq!(HubSchema::of(&document(&original(), &original())), Some(HubSchema::ORIGINAL));
    }

    #[test]
    fn objects_of_servers_in_memory_say_what_is_served() {
        for schema in [HubSchema::OURS, HubSchema::ORIGINAL] {
            assert_eq!(HubSchema::of(&schema.object()["document"]), Some(schema));
            assert_eq!(HubSchema::known(&HubSchema::view(Some(schema))), Some(schema));
        }
        assert_eq!(HubSchema::known(&HubSchema::view(None)), None);
    }

    /// An earlier release of ours.
    #[test]
    fn a_hub_may_have_details_and_no_executors() {
        let mut earlier = ours();
        let fields = &mut earlier["properties"]["endpoints"]["items"]["properties"];
        fields.as_object_mut().unwrap().remove("executor");
        let known = HubSchema { executors: false, ..HubSchema::OURS };
        assert_eq!(HubSchema::of(&document(&earlier, &earlier)), Some(known));
        assert_eq!(HubSchema::of(&known.object()["document"]), Some(known));
    }

    #[test]
    fn executors_travel_where_they_are_served_or_were_seen() {
        let mut seen = Endpoint::new(vec!["10.0.0.1".to_owned()]);
        seen.executor = Some("east".into());
        let seen =
            ExportedSliceSpec { draining_endpoints: vec![seen], ..ExportedSliceSpec::default() };
        assert!(!carries_executors(None, &ExportedSliceSpec::default()));
        assert!(carries_executors(None, &seen));
        assert!(!carries_executors(Some(HubSchema::ORIGINAL), &seen));
        assert!(carries_executors(Some(HubSchema::OURS), &ExportedSliceSpec::default()));
    }

    #[test]
    fn a_field_counts_once_both_kinds_have_it() {
        assert_eq!(HubSchema::of(&document(&ours(), &original())), Some(HubSchema::ORIGINAL));
        assert_eq!(HubSchema::of(&document(&original(), &ours())), Some(HubSchema::ORIGINAL));
    }

    #[test]
    fn an_open_schema_takes_everything() {
        let open = json!({ "x-kubernetes-preserve-unknown-fields": true });
        assert_eq!(HubSchema::of(&document(&open, &open)), Some(HubSchema::OURS));
    }

    #[test]
    fn without_the_kinds_nothing_is_known() {
        assert_eq!(HubSchema::of(&json!({})), None);
        let lacking = json!({ "components": { "schemas": {
            "a": kind("EndpointSliceExport", &ours()),
        }}});
        assert_eq!(HubSchema::of(&lacking), None);
    }

    #[test]
    fn ipv4_always_travels_and_names_never_do() {
        for schema in [None, Some(HubSchema::ORIGINAL), Some(HubSchema::OURS)] {
            assert_eq!(carries(schema, &AddressType::IPv4), Some(true));
            assert_eq!(carries(schema, &AddressType::from("FQDN")), Some(false));
        }
        assert_eq!(carries(None, &AddressType::IPv6), None);
        assert_eq!(carries(Some(HubSchema::ORIGINAL), &AddressType::IPv6), Some(false));
        assert_eq!(carries(Some(HubSchema::OURS), &AddressType::IPv6), Some(true));
    }

    #[test]
    fn draining_endpoints_travel_where_they_are_served_or_were_seen() {
        let seen = [Endpoint::new(vec!["10.0.0.1".to_owned()])];
        assert!(!carries_draining(None, &[]));
        assert!(carries_draining(None, &seen));
        assert!(!carries_draining(Some(HubSchema::ORIGINAL), &seen));
        assert!(carries_draining(Some(HubSchema::OURS), &[]));
    }
}
