//! What the original's controllers do for imports: ServiceImport, InternalServiceImport, MultiClusterService and
//! EndpointSliceImport.

use fleet_api::{ObjectName, ResourceKind, kinds};
use serde_json::{Value, json};

use super::{
    Agents, add_finalizer, all, annotate, annotation, condition, has_finalizer, is_terminating,
    reference, referenced, refresh,
};

const IMPORT_FINALIZER: &str = "networking.fleet.azure.com/serviceimport-cleanup";
const WISH_FINALIZER: &str = "networking.fleet.azure.com/service-resources-cleanup";
const COPY_FINALIZER: &str = "networking.fleet.azure.com/endpointsliceimport-cleanup";
const IMPORT_LABEL: &str = "networking.fleet.azure.com/service-import";
const DERIVED_LABEL: &str = "networking.fleet.azure.com/derived-service";
const WISH_NAME: &str = "networking.fleet.azure.com/multi-cluster-service-name";
const WISH_NAMESPACE: &str = "networking.fleet.azure.com/multi-cluster-service-namespace";
const OBSERVED_GENERATION: &str = "networking.fleet.azure.com/last-observed-generation";
const MANAGER: &str = "endpointsliceimport-controller.networking.fleet.azure.com";

impl Agents<'_> {
    /// The ServiceImport controller.
    pub(super) fn request_imports(&mut self) {
        for (name, import) in all(self.own, kinds::SERVICE_IMPORT) {
            if is_terminating(&import) {
                self.withdraw_request(&name, &import);
                continue;
            }
            if !has_finalizer(&import, IMPORT_FINALIZER) {
                self.change_own(kinds::SERVICE_IMPORT, &name, |import| {
                    add_finalizer(import, IMPORT_FINALIZER);
                });
            }
            let on_hub =
                ObjectName::new("fleet-member-a", format!("{}-{}", name.namespace, name.name));
            let wanted = reference(kinds::SERVICE_IMPORT, &name, &import);
            if self.hub.get(kinds::INTERNAL_SERVICE_IMPORT, &on_hub).is_none() {
                let request = json!({ "spec": { "serviceImportReference": wanted } });
                self.create_on_hub(kinds::INTERNAL_SERVICE_IMPORT, &on_hub, request);
            } else {
                self.change_on_hub(kinds::INTERNAL_SERVICE_IMPORT, &on_hub, |request| {
                    refresh(&mut request["spec"]["serviceImportReference"], &wanted);
                });
            }
        }
    }

    fn withdraw_request(&mut self, name: &ObjectName, import: &Value) {
        if !has_finalizer(import, IMPORT_FINALIZER) {
            return;
        }
        let on_hub = ObjectName::new("fleet-member-a", format!("{}-{}", name.namespace, name.name));
        self.delete_if_there(true, kinds::INTERNAL_SERVICE_IMPORT, &on_hub);
        self.change_own(kinds::SERVICE_IMPORT, name, |import| {
            remove_finalizer(import, IMPORT_FINALIZER);
        });
    }

    /// The InternalServiceImport controller, which reports back.
    pub(super) fn report_grants(&mut self) {
        for (name, request) in self.own_on_hub(kinds::INTERNAL_SERVICE_IMPORT) {
            let import = referenced(&request["spec"]["serviceImportReference"]);
            if self.own.get(kinds::SERVICE_IMPORT, &import).is_none() {
                self.delete_if_there(true, kinds::INTERNAL_SERVICE_IMPORT, &name);
                continue;
            }
            self.change_own(kinds::SERVICE_IMPORT, &import, |import| {
                if filled_in(&import["status"]) != filled_in(&request["status"]) {
                    import["status"] = request["status"].clone();
                }
            });
        }
    }

    /// The MultiClusterService controller.
    pub(super) fn bind_imports(&mut self) {
        for (name, wish) in all(self.own, kinds::MULTI_CLUSTER_SERVICE) {
            if is_terminating(&wish) {
                self.unbind(&name, &wish);
                continue;
            }
            self.change_own(kinds::MULTI_CLUSTER_SERVICE, &name, |wish| {
                if !has_finalizer(wish, WISH_FINALIZER) {
                    add_finalizer(wish, WISH_FINALIZER);
                }
            });
            let wanted = wish["spec"]["serviceImport"]["name"].as_str().unwrap().to_owned();
            if let Some(other) = label(&wish, IMPORT_LABEL).filter(|other| *other != wanted) {
                let other = ObjectName::new(name.namespace.clone(), other);
                self.delete_if_there(false, kinds::SERVICE_IMPORT, &other);
            }
            self.change_own(kinds::MULTI_CLUSTER_SERVICE, &name, |wish| {
                wish["metadata"]["labels"][IMPORT_LABEL] = json!(wanted);
            });
            let import = ObjectName::new(name.namespace.clone(), wanted);
            match self.own_import(&name, &wish, &import) {
                Some(status) if has_clusters(&status) => self.bind(&name, &status),
                _ => self.wait(&name),
            }
        }
    }

    /// The status of the import that this MCS controls; `None` if another one does.
    fn own_import(
        &mut self,
        name: &ObjectName,
        wish: &Value,
        import: &ObjectName,
    ) -> Option<Value> {
        let uid = &wish["metadata"]["uid"];
        let Some(found) = self.own.get(kinds::SERVICE_IMPORT, import) else {
            let owner = json!({
                "apiVersion": kinds::MULTI_CLUSTER_SERVICE.api_version(),
                "kind": "MultiClusterService", "name": name.name, "uid": uid,
                "controller": true, "blockOwnerDeletion": true,
            });
            let object = json!({ "metadata": { "ownerReferences": [owner] } });
            self.own.create(kinds::SERVICE_IMPORT, import, object).unwrap();
            self.written.push(format!("create ServiceImport {import}"));
            return Some(Value::Null);
        };
        let owners = found["metadata"]["ownerReferences"].as_array();
        let ours = owners.is_some_and(|owners| owners.iter().any(|owner| owner["uid"] == *uid));
        ours.then(|| found["status"].clone())
    }

    fn bind(&mut self, name: &ObjectName, status: &Value) {
        let wish = self.own.get(kinds::MULTI_CLUSTER_SERVICE, name).unwrap();
        let plain = format!("{}-{}", name.namespace, name.name);
        let derived = label(wish, DERIVED_LABEL).unwrap_or(plain);
        self.change_own(kinds::MULTI_CLUSTER_SERVICE, name, |wish| {
            wish["metadata"]["labels"][DERIVED_LABEL] = json!(derived);
        });
        let derived = ObjectName::new("fleet-system", derived);
        if self.own.get(kinds::SERVICE, &derived).is_none() {
            let object = json!({ "spec": { "type": "LoadBalancer", "clusterIP": "10.0.0.9" } });
            self.own.create(kinds::SERVICE, &derived, object).unwrap();
            self.written.push(format!("create Service {derived}"));
        }
        self.change_own(kinds::SERVICE, &derived, |service| {
            service["metadata"]["labels"][WISH_NAME] = json!(name.name);
            service["metadata"]["labels"][WISH_NAMESPACE] = json!(name.namespace);
            service["spec"]["type"] = json!("LoadBalancer");
            // The server fills in node ports again, which makes this no change.
            if without_node_ports(&service["spec"]["ports"]) != status["ports"] {
                service["spec"]["ports"] = status["ports"].clone();
            }
        });
        let balancer =
            self.own.get(kinds::SERVICE, &derived).unwrap()["status"]["loadBalancer"].clone();
        self.tell(name, ("True", "FoundServiceImport"), balancer);
    }

    /// "Invalid import": the derived Service goes.
    fn wait(&mut self, name: &ObjectName) {
        self.tell(name, ("Unknown", "UnknownServiceImport"), Value::Null);
        let wish = self.own.get(kinds::MULTI_CLUSTER_SERVICE, name).unwrap();
        if let Some(derived) = label(wish, DERIVED_LABEL) {
            let derived = ObjectName::new("fleet-system", derived);
            self.delete_if_there(false, kinds::SERVICE, &derived);
            self.change_own(kinds::MULTI_CLUSTER_SERVICE, name, |wish| {
                wish["metadata"]["labels"].as_object_mut().unwrap().remove(DERIVED_LABEL);
            });
        }
    }

    /// A status is sent if status, reason or generation of its condition differ, or the addresses.
    fn tell(&mut self, name: &ObjectName, said: (&str, &str), balancer: Value) {
        self.change_own(kinds::MULTI_CLUSTER_SERVICE, name, |wish| {
            let generation = wish["metadata"]["generation"].clone();
            let same = condition(wish, "Valid").is_some_and(|valid| {
                (&valid["status"], &valid["reason"]) == (&json!(said.0), &json!(said.1))
                    && valid["observedGeneration"] == generation
            });
            if !same {
                wish["status"]["conditions"] = json!([{
                    "type": "Valid", "status": said.0, "reason": said.1, "message": "as found",
                    "observedGeneration": generation,
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }]);
            }
            if filled_in(&wish["status"]["loadBalancer"]) != filled_in(&balancer) {
                wish["status"]["loadBalancer"] = balancer;
            }
        });
    }

    fn unbind(&mut self, name: &ObjectName, wish: &Value) {
        if !has_finalizer(wish, WISH_FINALIZER) {
            return;
        }
        if let Some(derived) = label(wish, DERIVED_LABEL) {
            let derived = ObjectName::new("fleet-system", derived);
            self.delete_if_there(false, kinds::SERVICE, &derived);
        }
        if let Some(import) = label(wish, IMPORT_LABEL) {
            let import = ObjectName::new(name.namespace.clone(), import);
            self.delete_if_there(false, kinds::SERVICE_IMPORT, &import);
        }
        self.change_own(kinds::MULTI_CLUSTER_SERVICE, name, |wish| {
            remove_finalizer(wish, WISH_FINALIZER);
        });
    }

    /// The EndpointSliceImport controller.
    pub(super) fn import_slices(&mut self) {
        for (name, copy) in self.own_on_hub(kinds::ENDPOINT_SLICE_IMPORT) {
            let imported = ObjectName::new("fleet-system", name.name.clone());
            if is_terminating(&copy) {
                if has_finalizer(&copy, COPY_FINALIZER) {
                    self.delete_if_there(false, kinds::ENDPOINT_SLICE, &imported);
                    self.change_on_hub(kinds::ENDPOINT_SLICE_IMPORT, &name, |copy| {
                        remove_finalizer(copy, COPY_FINALIZER);
                    });
                }
                continue;
            }
            if let Some(derived) =
                self.derived_for(&referenced(&copy["spec"]["ownerServiceReference"]))
            {
                self.import_slice(&name, &imported, &copy, &derived);
            }
        }
    }

    /// The derived Service of the first MCS for a Service that has a live one.
    fn derived_for(&self, service: &ObjectName) -> Option<String> {
        let wishes = all(self.own, kinds::MULTI_CLUSTER_SERVICE);
        let mut labels = wishes.iter().filter_map(|(name, wish)| {
            let wanted = wish["spec"]["serviceImport"]["name"] == *service.name;
            let ours = wanted && name.namespace == service.namespace && !is_terminating(wish);
            label(wish, DERIVED_LABEL).filter(|_| ours)
        });
        let derived = labels.next()?;
        let found = self.own.get(kinds::SERVICE, &ObjectName::new("fleet-system", &*derived))?;
        (!is_terminating(found)).then_some(derived)
    }

    fn import_slice(
        &mut self,
        name: &ObjectName,
        imported: &ObjectName,
        copy: &Value,
        derived: &str,
    ) {
        self.change_on_hub(kinds::ENDPOINT_SLICE_IMPORT, name, |copy| {
            if !has_finalizer(copy, COPY_FINALIZER) {
                add_finalizer(copy, COPY_FINALIZER);
            }
        });
        let spec = &copy["spec"];
        if self.own.get(kinds::ENDPOINT_SLICE, imported).is_none() {
            let object = json!({ "addressType": spec["addressType"], "endpoints": [] });
            self.own.create(kinds::ENDPOINT_SLICE, imported, object).unwrap();
            self.written.push(format!("create EndpointSlice {imported}"));
        }
        self.change_own(kinds::ENDPOINT_SLICE, imported, |slice| {
            slice["metadata"]["labels"] = json!({
                "kubernetes.io/service-name": derived,
                "endpointslice.kubernetes.io/managed-by": MANAGER,
            });
            slice["ports"] = spec["ports"].clone();
            // Nothing but addresses; the server fills in what is empty.
            if filled_in(&slice["endpoints"]) != filled_in(&spec["endpoints"]) {
                slice["endpoints"] = spec["endpoints"].clone();
            }
        });
        let generation = spec["endpointSliceReference"]["generation"].to_string();
        if annotation(copy, OBSERVED_GENERATION) != Some(&generation) {
            self.change_on_hub(kinds::ENDPOINT_SLICE_IMPORT, name, |copy| {
                annotate(copy, OBSERVED_GENERATION, &generation);
            });
        }
    }

    fn delete_if_there(&mut self, on_hub: bool, kind: ResourceKind, name: &ObjectName) {
        let server = if on_hub { &mut *self.hub } else { &mut *self.own };
        if server.get(kind, name).is_some_and(|object| !is_terminating(object)) {
            server.delete(kind, name).unwrap();
            self.written.push(format!("delete {} {name}", kind.kind));
        }
    }
}

fn label(object: &Value, key: &str) -> Option<String> {
    object["metadata"]["labels"][key].as_str().map(str::to_owned)
}

fn has_clusters(status: &Value) -> bool {
    status["clusters"].as_array().is_some_and(|clusters| !clusters.is_empty())
}

fn remove_finalizer(object: &mut Value, finalizer: &str) {
    if let Some(list) = object["metadata"]["finalizers"].as_array_mut() {
        list.retain(|held| held != finalizer);
    }
}

fn without_node_ports(ports: &Value) -> Value {
    let mut ports = ports.clone();
    for port in ports.as_array_mut().into_iter().flatten() {
        port.as_object_mut().unwrap().remove("nodePort");
    }
    ports
}

/// Semantic equality: nothing and empty are the same.
fn filled_in(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let fields = map.iter().map(|(field, value)| (field.clone(), filled_in(value)));
            let kept: serde_json::Map<_, _> =
                fields.filter(|(_, value)| !value.is_null()).collect();
            if kept.is_empty() { Value::Null } else { Value::Object(kept) }
        }
        Value::Array(list) if list.is_empty() => Value::Null,
        Value::Array(list) => list.iter().map(filled_in).collect(),
        other => other.clone(),
    }
}
