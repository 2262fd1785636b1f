//! A model of the original's member controllers (docs/design/contract.md#controllers): those of exports, and in
//! [`imports`] those of imports, as far as objects show them.
//!
//! What to do is decided by pure functions; [`Agents`] does it until nothing is left to do.

mod imports;

use fleet_api::names::is_dns1123_subdomain;
use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_model_server::ModelServer;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::mixed_fleet::member::Member;

const UNIQUE_NAME: &str = "networking.fleet.azure.com/fleet-unique-name";
const SEEN_GENERATION: &str = "networking.fleet.azure.com/last-seen-generation";
const SEEN_TIME: &str = "networking.fleet.azure.com/last-seen-timestamp";
const OBSERVED_VERSION: &str = "networking.fleet.azure.com/last-observed-resource-version";
const EXPORT_FINALIZER: &str = "networking.fleet.azure.com/svc-export-cleanup";

/// What the EndpointSlice controller does with a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Skip,
    Unexport,
    Export,
}

/// The classification of the EndpointSlice controller, first match wins (MES-1 to MES-11, MES-22).
pub(crate) fn classify(slice: &Value, export: Option<&Value>) -> Class {
    let unless_exported =
        if annotation(slice, UNIQUE_NAME).is_some() { Class::Unexport } else { Class::Skip };
    if slice["addressType"] != "IPv4" {
        return Class::Skip;
    }
    let labelled = slice["metadata"]["labels"]["kubernetes.io/service-name"].is_string();
    let exportable = export.is_some_and(|export| {
        is(export, "Valid", "True") && is(export, "Conflict", "False") && !is_terminating(export)
    });
    if labelled && exportable && !is_terminating(slice) { Class::Export } else { unless_exported }
}

/// The collector of leftover EndpointSliceExports: whether a copy goes (MESE-1 to MESE-4).
pub(crate) fn is_leftover(copy: &Value, slice: Option<&Value>) -> bool {
    slice.is_none_or(|slice| annotation(slice, UNIQUE_NAME) != copy["metadata"]["name"].as_str())
}

/// The legal unique name that a slice carries.
fn unique_name(slice: &Value) -> Option<&str> {
    annotation(slice, UNIQUE_NAME).filter(|name| is_dns1123_subdomain(name))
}

fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object["metadata"]["annotations"][key].as_str()
}

fn is_terminating(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

fn is(object: &Value, type_: &str, status: &str) -> bool {
    condition(object, type_).is_some_and(|condition| condition["status"] == status)
}

fn condition<'a>(object: &'a Value, type_: &str) -> Option<&'a Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == type_)
}

fn ready_endpoints(slice: &Value) -> Value {
    let all = slice["endpoints"].as_array().cloned().unwrap_or_default();
    let ready = all.iter().filter(|endpoint| endpoint["conditions"]["ready"] != json!(false));
    ready.map(|endpoint| json!({ "addresses": endpoint["addresses"] })).collect()
}

/// The Go agents of a member, in the place of ours.
pub(crate) struct Agents<'a> {
    own: &'a mut ModelServer,
    hub: &'a mut ModelServer,
    written: Vec<String>,
    suffix: u32,
}

impl<'a> Agents<'a> {
    pub(crate) fn of(member: &'a mut Member) -> Self {
        let (own, hub) = (&mut member.own, &mut member.hub);
        Self { own, hub, written: Vec::new(), suffix: 0xa_bc00 }
    }

    /// Runs every controller until none writes any more, and returns the writes.
    pub(crate) fn settle(mut self) -> Vec<String> {
        for _ in 0..20 {
            let before = self.written.len();
            self.collect_leftovers();
            self.report_verdicts();
            self.export_services();
            self.export_slices();
            self.request_imports();
            self.report_grants();
            self.bind_imports();
            self.import_slices();
            if self.written.len() == before {
                return self.written;
            }
        }
        panic!("no rest: {:#?}", self.written);
    }

    /// The collector of leftover EndpointSliceExports.
    pub(crate) fn collect_leftovers(&mut self) {
        for (name, copy) in self.own_on_hub(kinds::ENDPOINT_SLICE_EXPORT) {
            let slice = referenced(&copy["spec"]["endpointSliceReference"]);
            if is_leftover(&copy, self.own.get(kinds::ENDPOINT_SLICE, &slice))
                && !is_terminating(&copy)
            {
                self.delete_on_hub(kinds::ENDPOINT_SLICE_EXPORT, &name);
            }
        }
    }

    /// The EndpointSlice controller.
    fn export_slices(&mut self) {
        for (name, slice) in all(self.own, kinds::ENDPOINT_SLICE) {
            let service = &slice["metadata"]["labels"]["kubernetes.io/service-name"];
            let service = service.as_str().unwrap_or_default();
            let export = ObjectName::new(name.namespace.clone(), service);
            match classify(&slice, self.own.get(kinds::SERVICE_EXPORT, &export)) {
                Class::Skip => {}
                Class::Unexport => self.unexport_slice(&name, &slice),
                Class::Export => self.export_slice(&name, &slice, &export),
            }
        }
    }

    fn export_slice(&mut self, name: &ObjectName, slice: &Value, service: &ObjectName) {
        let Some(unique) = unique_name(slice) else {
            self.suffix += 1;
            let unique = format!("a-{}-{}-{:05x}", name.namespace, name.name, self.suffix);
            let note = |slice: &mut Value| annotate(slice, UNIQUE_NAME, &unique);
            return self.change_own(kinds::ENDPOINT_SLICE, name, note);
        };
        let generation = slice["metadata"]["generation"].to_string();
        let now = self.own.now();
        let known = annotation(slice, SEEN_TIME).and_then(|time| time.parse::<Timestamp>().ok());
        let Some(since) = known
            .filter(|since| *since <= now)
            .filter(|_| annotation(slice, SEEN_GENERATION) == Some(generation.as_str()))
        else {
            return self.change_own(kinds::ENDPOINT_SLICE, name, |slice| {
                annotate(slice, SEEN_GENERATION, &generation);
                annotate(slice, SEEN_TIME, &now.to_string());
            });
        };
        let copy_name = ObjectName::new("fleet-member-a", unique);
        let mut reference = reference(kinds::ENDPOINT_SLICE, name, slice);
        reference["exportedSince"] = json!(since.to_string());
        let existing = self.hub.get(kinds::ENDPOINT_SLICE_EXPORT, &copy_name).cloned();
        let Some(existing) = existing else {
            let spec = filled(json!({ "endpointSliceReference": reference }), slice, service);
            let copy = json!({ "spec": spec });
            return self.create_on_hub(kinds::ENDPOINT_SLICE_EXPORT, &copy_name, copy);
        };
        if existing["spec"]["endpointSliceReference"]["uid"] != slice["metadata"]["uid"] {
            // The name is taken.
            return self.change_own(kinds::ENDPOINT_SLICE, name, |slice| {
                slice["metadata"]["annotations"].as_object_mut().unwrap().remove(UNIQUE_NAME);
            });
        }
        self.change_on_hub(kinds::ENDPOINT_SLICE_EXPORT, &copy_name, |copy| {
            copy["spec"] = filled(copy["spec"].take(), slice, service);
            refresh(&mut copy["spec"]["endpointSliceReference"], &reference);
        });
    }

    fn unexport_slice(&mut self, name: &ObjectName, slice: &Value) {
        if let Some(unique) = unique_name(slice) {
            let copy_name = ObjectName::new("fleet-member-a", unique);
            let copy = self.hub.get(kinds::ENDPOINT_SLICE_EXPORT, &copy_name);
            let uid = &slice["metadata"]["uid"];
            if copy.is_some_and(|copy| copy["spec"]["endpointSliceReference"]["uid"] == *uid) {
                self.delete_on_hub(kinds::ENDPOINT_SLICE_EXPORT, &copy_name);
            }
        }
        self.change_own(kinds::ENDPOINT_SLICE, name, |slice| {
            let annotations = slice["metadata"]["annotations"].as_object_mut().unwrap();
            for key in [UNIQUE_NAME, SEEN_GENERATION, SEEN_TIME] {
                annotations.remove(key);
            }
        });
    }

    /// The InternalServiceExport controller, which reports back.
    fn report_verdicts(&mut self) {
        for (name, internal) in self.own_on_hub(kinds::INTERNAL_SERVICE_EXPORT) {
            if is_terminating(&internal) {
                continue;
            }
            let export = referenced(&internal["spec"]["serviceReference"]);
            let Some(seen) = self.own.get(kinds::SERVICE_EXPORT, &export).cloned() else {
                self.delete_on_hub(kinds::INTERNAL_SERVICE_EXPORT, &name);
                continue;
            };
            let Some(verdict) = condition(&internal, "Conflict").cloned() else { continue };
            let told = condition(&seen, "Conflict").is_some_and(|told| {
                (&told["status"], &told["reason"]) == (&verdict["status"], &verdict["reason"])
            });
            if !told {
                self.change_own(kinds::SERVICE_EXPORT, &export, |export| {
                    let conditions = export["status"]["conditions"].as_array_mut().unwrap();
                    conditions.retain(|condition| condition["type"] != "Conflict");
                    conditions.push(verdict);
                });
            }
            let version = internal["spec"]["serviceReference"]["resourceVersion"].clone();
            if annotation(&internal, OBSERVED_VERSION) != version.as_str() {
                let note = |internal: &mut Value| {
                    annotate(internal, OBSERVED_VERSION, version.as_str().unwrap());
                };
                self.change_on_hub(kinds::INTERNAL_SERVICE_EXPORT, &name, note);
            }
        }
    }

    /// The ServiceExport controller, for Services that are eligible.
    fn export_services(&mut self) {
        for (name, export) in all(self.own, kinds::SERVICE_EXPORT) {
            let Some(service) = self.own.get(kinds::SERVICE, &name).cloned() else { continue };
            if !has_finalizer(&export, EXPORT_FINALIZER) {
                self.change_own(kinds::SERVICE_EXPORT, &name, |export| {
                    add_finalizer(export, EXPORT_FINALIZER);
                });
            }
            let on_hub =
                ObjectName::new("fleet-member-a", format!("{}-{}", name.namespace, name.name));
            let wanted = reference(kinds::SERVICE, &name, &service);
            let Some(internal) = self.hub.get(kinds::INTERNAL_SERVICE_EXPORT, &on_hub) else {
                let spec = json!({ "ports": service["spec"]["ports"], "serviceReference": wanted });
                let internal = json!({ "spec": spec });
                self.create_on_hub(kinds::INTERNAL_SERVICE_EXPORT, &on_hub, internal);
                continue;
            };
            if internal["spec"]["serviceReference"]["uid"] != wanted["uid"] {
                self.delete_on_hub(kinds::INTERNAL_SERVICE_EXPORT, &on_hub);
                continue;
            }
            self.change_on_hub(kinds::INTERNAL_SERVICE_EXPORT, &on_hub, |internal| {
                internal["spec"]["ports"] = service["spec"]["ports"].clone();
                refresh(&mut internal["spec"]["serviceReference"], &wanted);
            });
        }
    }

    /// What is in the member's namespace on the hub.
    fn own_on_hub(&self, kind: ResourceKind) -> Vec<(ObjectName, Value)> {
        let mut objects = all(self.hub, kind);
        objects.retain(|(name, _)| &*name.namespace == "fleet-member-a");
        objects
    }

    /// "Create or update": a PUT only if something differs.
    fn change_own(
        &mut self,
        kind: ResourceKind,
        name: &ObjectName,
        change: impl FnOnce(&mut Value),
    ) {
        change_in(self.own, kind, name, change, &mut self.written);
    }

    fn change_on_hub(
        &mut self,
        kind: ResourceKind,
        name: &ObjectName,
        change: impl FnOnce(&mut Value),
    ) {
        change_in(self.hub, kind, name, change, &mut self.written);
    }

    fn create_on_hub(&mut self, kind: ResourceKind, name: &ObjectName, object: Value) {
        self.hub.create(kind, name, object).unwrap();
        self.written.push(format!("create {} {name}", kind.kind));
    }

    fn delete_on_hub(&mut self, kind: ResourceKind, name: &ObjectName) {
        self.hub.delete(kind, name).unwrap();
        self.written.push(format!("delete {} {name}", kind.kind));
    }
}

fn change_in(
    server: &mut ModelServer,
    kind: ResourceKind,
    name: &ObjectName,
    change: impl FnOnce(&mut Value),
    written: &mut Vec<String>,
) {
    let before = server.get(kind, name).cloned();
    let put = |object: &mut Value| {
        let mut known = known(object);
        let seen = known.clone();
        change(&mut known);
        if known != seen {
            *object = known;
        }
    };
    server.edit(kind, name, put).unwrap();
    if server.get(kind, name) != before.as_ref() {
        written.push(format!("update {} {name}", kind.kind));
    }
}

/// An object as the original's types hold it: they compare that, and a PUT drops the rest.
pub(crate) fn known(object: &Value) -> Value {
    let mut known = object.clone();
    if let Some(spec) = known.pointer_mut("/spec").and_then(Value::as_object_mut) {
        spec.remove("drainingEndpoints");
    }
    known
}

fn all(server: &ModelServer, kind: ResourceKind) -> Vec<(ObjectName, Value)> {
    let names = server.names(kind).into_iter();
    names.map(|name| (name.clone(), server.get(kind, &name).unwrap().clone())).collect()
}

fn annotate(object: &mut Value, key: &str, value: &str) {
    object["metadata"]["annotations"][key] = json!(value);
}

fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    let list = object["metadata"]["finalizers"].as_array();
    list.is_some_and(|list| list.contains(&json!(finalizer)))
}

fn add_finalizer(object: &mut Value, finalizer: &str) {
    let list = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    object["metadata"]["finalizers"] = list.into_iter().chain([json!(finalizer)]).collect();
}

fn referenced(reference: &Value) -> ObjectName {
    let text = |field: &str| reference[field].as_str().unwrap().to_owned();
    ObjectName::new(text("namespace"), text("name"))
}

fn reference(kind: ResourceKind, name: &ObjectName, object: &Value) -> Value {
    json!({ "clusterId": "a", "apiVersion": kind.api_version(), "kind": kind.kind,
        "namespace": name.namespace, "name": name.name, "namespacedName": name.to_string(),
        "uid": object["metadata"]["uid"],
        "resourceVersion": object["metadata"]["resourceVersion"],
        "generation": object["metadata"]["generation"] })
}

/// Only these are refreshed; the rest of a reference is treated as immutable.
fn refresh(reference: &mut Value, newer: &Value) {
    for field in ["resourceVersion", "generation", "exportedSince"] {
        if !newer[field].is_null() {
            reference[field] = newer[field].clone();
        }
    }
}

fn filled(mut spec: Value, slice: &Value, service: &ObjectName) -> Value {
    spec["addressType"] = json!("IPv4");
    spec["endpoints"] = ready_endpoints(slice);
    spec["ports"] = slice["ports"].clone();
    spec["ownerServiceReference"] = json!({ "namespace": service.namespace, "name": service.name,
        "namespacedName": service.to_string() });
    spec
}
