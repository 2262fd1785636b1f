//! The objects of a large fleet at rest on its hub, as the API server sends them: with all that the agents wrote, and
//! with what is not read of it.

use fleet_api::annotations::{ORIGIN_NAMESPACE, SERVICE_IN_USE_BY, SLICE_EXPORT_UID};
use fleet_api::names::{member_namespace, slice_export_candidates};
use fleet_api::{ObjectName, ResourceKind, ServiceInUseBy, finalizers, kinds};
use serde_json::{Map, Value, json};

/// Members of the fleet.
const MEMBERS: usize = 100;
const EXPORTERS: usize = 20;
const IMPORTERS: usize = 3;
const ENDPOINTS: usize = 10;
/// The users' namespace.
const NAMESPACE: &str = "shops";
const CREATED: &str = "2026-01-02T03:04:05Z";

/// So many Services, each exported by 20 of 100 members and imported by three others.
pub(crate) struct Fleet {
    pub(crate) services: usize,
}

impl Fleet {
    /// All objects of a kind, in the order in which they are listed.
    pub(crate) fn objects(&self, kind: ResourceKind) -> Vec<String> {
        if kind == kinds::NAMESPACE {
            let members = (0..MEMBERS).map(|member| member_namespace(&cluster(member)));
            let names = members.chain([NAMESPACE.to_owned()]);
            return names
                .map(|name| Made::new(kind, ObjectName::cluster(name)).text(&[]))
                .collect();
        }
        let services = (0..self.services).map(Service::new);
        let mut objects: Vec<_> = services.flat_map(|service| service.objects(kind)).collect();
        objects.sort_by(|one, other| one.name.cmp(&other.name));
        objects.iter().map(|made| made.text(&["spec", "status"])).collect()
    }
}

/// One Service of the fleet.
struct Service {
    number: usize,
    name: ObjectName,
    exporters: Vec<usize>,
    importers: Vec<usize>,
}

impl Service {
    fn new(number: usize) -> Self {
        let members = |offset: usize, step: usize, wanted: usize| {
            (0..wanted).map(|at| (number * 7 + offset + at * step) % MEMBERS).collect()
        };
        Self {
            number,
            name: ObjectName::new(NAMESPACE, format!("shop-{number}")),
            exporters: members(0, MEMBERS / EXPORTERS, EXPORTERS),
            importers: members(1, 2, IMPORTERS),
        }
    }

    fn objects(&self, kind: ResourceKind) -> Vec<Made> {
        let (exporters, importers) = (self.exporters.iter(), self.importers.iter());
        if kind == kinds::SERVICE_IMPORT {
            vec![self.import()]
        } else if kind == kinds::INTERNAL_SERVICE_EXPORT {
            exporters.map(|member| self.export(*member)).collect()
        } else if kind == kinds::INTERNAL_SERVICE_IMPORT {
            importers.map(|member| self.request(*member)).collect()
        } else if kind == kinds::ENDPOINT_SLICE_EXPORT {
            exporters.map(|member| self.slice(*member)).collect()
        } else if kind == kinds::ENDPOINT_SLICE_IMPORT {
            let copies = |from: &usize| importers.clone().map(|to| self.copy(*from, *to)).collect();
            exporters.flat_map::<Vec<_>, _>(copies).collect()
        } else {
            Vec::new()
        }
    }

    fn import(&self) -> Made {
        let claim = |member: &usize| (member_namespace(&cluster(*member)), cluster(*member));
        let claims: ServiceInUseBy = self.importers.iter().map(claim).collect();
        let mut made = Made::new(kinds::SERVICE_IMPORT, self.name.clone());
        made.object["metadata"]["annotations"] =
            json!({ SERVICE_IN_USE_BY: claims.to_annotation() });
        made.finalizer(finalizers::SERVICE_IMPORT).with("status", self.status())
    }

    fn status(&self) -> Value {
        let mut clusters: Vec<_> = self.exporters.iter().map(|member| cluster(*member)).collect();
        clusters.sort();
        let clusters: Vec<_> = clusters.iter().map(|name| json!({ "cluster": name })).collect();
        json!({ "type": "ClusterSetIP", "ports": ports(), "clusters": clusters })
    }

    fn in_namespace_of(&self, kind: ResourceKind, member: usize) -> Made {
        let name = format!("{NAMESPACE}-{}", self.name.name);
        Made::new(kind, ObjectName::new(member_namespace(&cluster(member)), name))
    }

    fn export(&self, member: usize) -> Made {
        let condition = json!({
            "type": "Conflict", "status": "False", "reason": "NoConflictFound", "observedGeneration": 1,
            "lastTransitionTime": CREATED,
            "message": format!("service {} is exported without conflict", self.name),
        });
        let reference = self.reference(member, "v1", "Service", &self.name.name);
        self.in_namespace_of(kinds::INTERNAL_SERVICE_EXPORT, member)
            .finalizer(finalizers::INTERNAL_SERVICE_EXPORT)
            .with("spec", json!({ "ports": ports(), "serviceReference": reference }))
            .with("status", json!({ "conditions": [condition] }))
    }

    fn request(&self, member: usize) -> Made {
        let version = kinds::SERVICE_IMPORT.api_version();
        let reference = self.reference(member, &version, "ServiceImport", &self.name.name);
        self.in_namespace_of(kinds::INTERNAL_SERVICE_IMPORT, member)
            .finalizer(finalizers::INTERNAL_SERVICE_IMPORT)
            .with("spec", json!({ "serviceImportReference": reference }))
            .with("status", self.status())
    }

    fn slice_name(&self) -> String {
        format!("{}-abcde", self.name.name)
    }

    /// The name that a slice has on the hub.
    fn exported_name(&self, member: usize) -> String {
        let uid = uid(&format!("{member} {}", self.slice_name()));
        let (cluster, slice) = (cluster(member), self.slice_name());
        slice_export_candidates(&cluster, NAMESPACE, &slice, &uid).next().unwrap()
    }

    fn slice(&self, member: usize) -> Made {
        let namespace = member_namespace(&cluster(member));
        let name = ObjectName::new(namespace, self.exported_name(member));
        Made::new(kinds::ENDPOINT_SLICE_EXPORT, name)
            .finalizer(finalizers::ENDPOINT_SLICE_EXPORT)
            .with("spec", self.slice_spec(member))
    }

    fn copy(&self, from: usize, to: usize) -> Made {
        let origin = self.slice(from);
        let name = ObjectName::new(member_namespace(&cluster(to)), self.exported_name(from));
        let mut copy = Made::new(kinds::ENDPOINT_SLICE_IMPORT, name);
        copy.object["metadata"]["annotations"] = json!({
            ORIGIN_NAMESPACE: origin.name.namespace,
            SLICE_EXPORT_UID: origin.object["metadata"]["uid"],
        });
        copy.finalizer(finalizers::ENDPOINT_SLICE_IMPORT).with("spec", self.slice_spec(from))
    }

    fn slice_spec(&self, member: usize) -> Value {
        let (high, low) = (self.number % 250, member);
        let address = |at| json!({ "addresses": [format!("10.{high}.{low}.{at}")] });
        let reference =
            self.reference(member, "discovery.k8s.io/v1", "EndpointSlice", &self.slice_name());
        json!({
            "addressType": "IPv4",
            "endpoints": (0..ENDPOINTS).map(address).collect::<Vec<_>>(),
            "ports": [{ "name": "web", "protocol": "TCP", "port": 8080 }],
            "endpointSliceReference": reference,
            "ownerServiceReference": {
                "namespace": NAMESPACE, "name": self.name.name,
                "namespacedName": self.name.to_string(),
            },
        })
    }

    fn reference(&self, member: usize, version: &str, kind: &str, name: &str) -> Value {
        json!({
            "clusterId": cluster(member), "apiVersion": version, "kind": kind,
            "namespace": NAMESPACE, "name": name, "namespacedName": format!("{NAMESPACE}/{name}"),
            "resourceVersion": (1_000 + self.number * MEMBERS + member).to_string(),
            "generation": 1, "uid": uid(&format!("{member} {name}")), "exportedSince": CREATED,
        })
    }
}

fn cluster(member: usize) -> String {
    format!("member-{member}")
}

fn ports() -> Value {
    json!([{ "name": "web", "protocol": "TCP", "port": 80, "targetPort": 8080 }])
}

/// A uid that only this text has.
fn uid(text: &str) -> String {
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
    let hash = |half: u8| BuildHasherDefault::<DefaultHasher>::default().hash_one((half, text));
    let (high, low) = (format!("{:016x}", hash(0)), format!("{:016x}", hash(1)));
    [&high[..8], &high[8..12], &high[12..], &low[..4], &low[4..]].join("-")
}

/// An object in the making.
struct Made {
    name: ObjectName,
    object: Value,
}

impl Made {
    fn new(kind: ResourceKind, name: ObjectName) -> Self {
        let uid = uid(&format!("{} {name}", kind.kind));
        let mut metadata = json!({
            "name": name.name, "uid": uid, "resourceVersion": "1234567", "generation": 1,
            "creationTimestamp": CREATED,
        });
        if !name.namespace.is_empty() {
            metadata["namespace"] = json!(name.namespace);
        }
        let object = json!({
            "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": metadata,
        });
        Self { name, object }
    }

    fn finalizer(mut self, finalizer: &str) -> Self {
        self.object["metadata"]["finalizers"] = json!([finalizer]);
        self
    }

    fn with(mut self, part: &str, content: Value) -> Self {
        self.object[part] = content;
        self
    }

    /// The text, with a record of who manages which fields.
    fn text(&self, parts: &[&str]) -> String {
        let written = parts.iter().filter(|part| !self.object[**part].is_null());
        let entry = |part: &&str| {
            json!({
                "manager": "agent", "operation": "Update", "time": CREATED,
                "apiVersion": self.object["apiVersion"], "fieldsType": "FieldsV1",
                "fieldsV1": fields(&json!({ *part: self.object[*part] })),
            })
        };
        let mut object = self.object.clone();
        object["metadata"]["managedFields"] = written.map(entry).collect();
        object.to_string()
    }
}

/// Names fields the way API servers do.
fn fields(content: &Value) -> Value {
    let Value::Object(content) = content else { return json!({}) };
    let field = |(key, value): (&String, &Value)| (format!("f:{key}"), fields(value));
    Value::Object(content.iter().map(field).collect::<Map<_, _>>())
}
