//! The writes of a plan.

use fleet_accumulator::{ClusterId, Meta, Object, Tracked};
use fleet_api::{ObjectName, annotations};
use fleet_plan::json_patch::{add, add_finalizer, remove_finalizer};
use fleet_plan::{Action, Body, Precondition, Step};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde::Serialize;
use serde_json::{Value, json};

use crate::objects::HasMeta;

/// The version of an object, as the precondition of a write.
pub fn at<T>(object: &Object<T>) -> Precondition {
    Precondition { uid: object.uid.clone(), version: object.version.clone() }
}

/// Builds the writes to one cluster, and the Events about its objects.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub(crate) cluster: ClusterId,
}

/// Writes to the agent's own cluster.
pub const LOCAL: Target = Target { cluster: ClusterId::Local };
/// Writes to the hub.
pub const HUB: Target = Target { cluster: ClusterId::Hub };

impl Target {
    /// Creates an object of kind `T`; `body` holds everything but `apiVersion`, `kind`,
    /// `metadata.name` and `metadata.namespace`.
    pub fn create<T: Tracked>(self, name: ObjectName, body: impl Into<Body>) -> Step {
        let body = whole::<T>(&name, body.into());
        self.step::<T>(name, Action::Create(body))
    }

    /// Replaces an object that only agents write. Labels, annotations, finalizers and owners that other parties have
    /// set are kept, except where `body` sets them.
    pub fn replace<T: Tracked + HasMeta>(self, object: &Object<T>, body: impl Into<Body>) -> Step {
        let mut body = body.into();
        carry_over(&mut body.fields_mut()["metadata"], object.meta());
        let body = whole::<T>(&object.name, body);
        self.step::<T>(object.name.clone(), Action::Replace { body, at: at(object) })
    }

    /// Like [`replace`](Self::replace), without a label that the object has.
    pub fn replace_without_label<T: Tracked + HasMeta>(
        self,
        object: &Object<T>,
        label: &str,
        body: impl Into<Body>,
    ) -> Step {
        let mut body = body.into();
        let metadata = &mut body.fields_mut()["metadata"];
        carry_over(metadata, object.meta());
        if let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut) {
            labels.remove(label);
        }
        let body = whole::<T>(&object.name, body);
        self.step::<T>(object.name.clone(), Action::Replace { body, at: at(object) })
    }

    /// Replaces an object whose labels and annotations are ours alone: those that `body` lacks go. Finalizers and owners stay.
    pub fn replace_exactly<T: Tracked + HasMeta>(
        self,
        object: &Object<T>,
        body: impl Into<Body>,
    ) -> Step {
        let mut body = body.into();
        let metadata = &mut body.fields_mut()["metadata"];
        if !object.meta().finalizers.is_empty() {
            metadata["finalizers"] = json!(object.meta().finalizers);
        }
        if !object.meta().owners.is_empty() {
            metadata["ownerReferences"] = to_json(&object.meta().owners);
        }
        let body = whole::<T>(&object.name, body);
        self.step::<T>(object.name.clone(), Action::Replace { body, at: at(object) })
    }

    /// Patches an object that other parties write too.
    pub fn patch<T: Tracked>(self, object: &Object<T>, operations: Vec<Value>) -> Step {
        let action = Action::Patch { operations, status: false, at: at(object) };
        self.step::<T>(object.name.clone(), action)
    }

    /// Adds a finalizer, unless the object has it.
    pub fn add_finalizer<T: Tracked + HasMeta>(
        self,
        object: &Object<T>,
        finalizer: &str,
    ) -> Option<Step> {
        let operations = add_finalizer(object.meta(), finalizer);
        (!operations.is_empty()).then(|| self.patch(object, operations))
    }

    /// Removes a finalizer, if the object has it.
    pub fn remove_finalizer<T: Tracked + HasMeta>(
        self,
        object: &Object<T>,
        finalizer: &str,
    ) -> Option<Step> {
        let operations = remove_finalizer(object.meta(), finalizer);
        (!operations.is_empty()).then(|| self.patch(object, operations))
    }

    /// Sets the whole status of an object.
    pub fn status<T: Tracked>(self, object: &Object<T>, status: &impl Serialize) -> Step {
        let operations = vec![add(&["status"], to_json(status))];
        let action = Action::Patch { operations, status: true, at: at(object) };
        self.step::<T>(object.name.clone(), action)
    }

    /// Deletes this version of an object.
    pub fn delete<T: Tracked>(self, object: &Object<T>) -> Step {
        let action = Action::Delete { at: at(object), grace_seconds: None };
        self.step::<T>(object.name.clone(), action)
    }

    /// Asks the API server to confirm that an object does not exist.
    pub fn confirm_absent<T: Tracked>(self, name: ObjectName) -> Step {
        self.step::<T>(name, Action::ConfirmAbsent)
    }

    /// Asks the API server to confirm that a namespace has no object of kind `T`.
    pub fn confirm_none<T: Tracked>(self, namespace: &str) -> Step {
        self.step::<T>(ObjectName::new(namespace, ""), Action::ConfirmAbsent)
    }

    /// Any action on one object.
    pub fn step<T: Tracked>(self, name: ObjectName, action: Action) -> Step {
        Step::new(self.cluster, T::KIND, name, action)
    }
}

/// Serializes a type of the workspace.
pub fn to_json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("our types have string keys and serialise")
}

fn whole<T: Tracked>(name: &ObjectName, mut body: Body) -> Body {
    let fields = body.fields_mut();
    fields["apiVersion"] = json!(T::KIND.api_version());
    fields["kind"] = json!(T::KIND.kind);
    fields["metadata"]["name"] = json!(name.name);
    fields["metadata"]["namespace"] = json!(name.namespace);
    body
}

fn carry_over(metadata: &mut Value, meta: &Meta) {
    merge(metadata, "labels", meta.labels.iter().map(|(k, v)| (k.as_ref(), v.as_ref())));
    // The trace context belongs to an earlier write.
    let lasting = meta.annotations.iter().filter(|(key, _)| &***key != annotations::TRACEPARENT);
    merge(metadata, "annotations", lasting.map(|(k, v)| (k.as_ref(), v.as_ref())));
    if metadata.get("finalizers").is_none() && !meta.finalizers.is_empty() {
        metadata["finalizers"] = json!(meta.finalizers);
    }
    if metadata.get("ownerReferences").is_none() && !meta.owners.is_empty() {
        metadata["ownerReferences"] = to_json(&meta.owners);
    }
}

fn merge<'a>(metadata: &mut Value, field: &str, seen: impl Iterator<Item = (&'a str, &'a str)>) {
    for (key, value) in seen {
        if metadata[field].get(key).is_none() {
            metadata[field][key] = json!(value);
        }
    }
}

/// The reference that lets a dependent in the namespace of `owner` go with it. It makes no controller of it, and blocks nothing:
/// no right on the finalizers of the kind is needed.
pub fn owner_reference<T: Tracked>(owner: &Object<T>) -> OwnerReference {
    OwnerReference { controller: None, block_owner_deletion: None, ..controller_reference(owner) }
}

/// The reference that makes `owner` the controller of a dependent in its namespace.
pub fn controller_reference<T: Tracked>(owner: &Object<T>) -> OwnerReference {
    OwnerReference {
        api_version: T::KIND.api_version(),
        kind: T::KIND.kind.to_owned(),
        name: owner.name.name.to_string(),
        uid: owner.uid.to_string(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}
