//! The key that owns an object, computed from that object alone (docs/design/rules.md#owning-keys).

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use fleet_accumulator::{Object, Tracked};
use fleet_api::names::{member_namespace, member_of_namespace};
use fleet_api::{ObjectName, ResourceKind, kinds};
use fleet_model::changes::each_touched;
use fleet_model::objects::{
    EndpointSliceExport, EndpointSliceImport, InternalServiceExport, InternalServiceImport, named,
};
use fleet_plan::Affected;

use crate::snapshot::HubSnapshot;

/// A unit of the hub agent's work.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// A Service of the fleet.
    Service(ObjectName),
    /// An object that cannot be decoded, whose reference contradicts the object's own namespace, or that exceeds a bound.
    InvalidReference(ResourceKind, ObjectName),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(service) => service.fmt(f),
            Self::InvalidReference(kind, name) => write!(f, "{} {name}", kind.kind),
        }
    }
}

/// An object in a member's namespace on the hub. Only the namespace identifies the member
/// (docs/design/rules.md#identity).
pub(super) trait FromMember: Tracked {
    /// The member that its reference names, true or not.
    fn referenced_member(&self) -> &str;
    /// Namespace and name of the object on the member that its reference names, true or not.
    fn referenced_name(&self) -> String;
    /// The Service of the fleet that it belongs to, if its reference is readable.
    fn service(&self) -> Option<ObjectName>;
    /// What exceeds a bound, if anything does.
    fn excess(&self) -> Option<&str>;
    /// Why it cannot be decoded, if it cannot.
    fn unreadable(&self) -> Option<&str>;
}

impl FromMember for InternalServiceExport {
    fn referenced_member(&self) -> &str {
        &self.reference.cluster_id
    }
    fn referenced_name(&self) -> String {
        self.reference.namespaced_name()
    }
    fn service(&self) -> Option<ObjectName> {
        self.reference.object().cloned()
    }
    fn excess(&self) -> Option<&str> {
        self.excess.as_deref()
    }
    fn unreadable(&self) -> Option<&str> {
        self.unreadable.as_deref()
    }
}

impl FromMember for InternalServiceImport {
    fn referenced_member(&self) -> &str {
        &self.reference.cluster_id
    }
    fn referenced_name(&self) -> String {
        self.reference.namespaced_name()
    }
    fn service(&self) -> Option<ObjectName> {
        self.reference.object().cloned()
    }
    fn excess(&self) -> Option<&str> {
        self.excess.as_deref()
    }
    fn unreadable(&self) -> Option<&str> {
        self.unreadable.as_deref()
    }
}

impl FromMember for EndpointSliceExport {
    fn referenced_member(&self) -> &str {
        &self.spec.endpoint_slice_reference.cluster_id
    }
    fn referenced_name(&self) -> String {
        self.spec.endpoint_slice_reference.namespaced_name.clone()
    }
    /// A slice backs a Service in its own namespace, never in another one.
    fn service(&self) -> Option<ObjectName> {
        let slice = self.spec.endpoint_slice_reference.object()?;
        let service = self.spec.owner_service_reference.object()?;
        (slice.namespace == service.namespace).then_some(service)
    }
    fn excess(&self) -> Option<&str> {
        self.excess.as_deref()
    }
    fn unreadable(&self) -> Option<&str> {
        self.unreadable.as_deref()
    }
}

/// The member that an object belongs to, which its namespace identifies, and the Service; `None` if its reference is
/// invalid.
fn referenced<T: FromMember>(object: &Object<T>) -> Option<(&str, ObjectName)> {
    let member = member_of_namespace(&object.name.namespace);
    let member = member.filter(|member| *member == object.referenced_member());
    member.zip(object.service())
}

/// The member that an object belongs to; `None` if it is part of no Service.
pub(super) fn owner_of<T: FromMember>(object: &Object<T>) -> Option<&str> {
    let (member, _) = referenced(object)?;
    object.excess().is_none().then_some(member)
}

/// Whether the reference of an object is valid.
pub(super) fn has_valid_reference<T: FromMember>(object: &Object<T>) -> bool {
    referenced(object).is_some()
}

/// The key that owns an object of a member.
pub(super) fn key_of<T: FromMember>(object: &Object<T>) -> Key {
    match referenced(object) {
        Some((_, service)) if object.excess().is_none() => Key::Service(service),
        _ => Key::InvalidReference(T::KIND, object.name.clone()),
    }
}

/// The key that owns an importer's copy of a slice.
pub(super) fn key_of_copy(copy: &Object<EndpointSliceImport>) -> Key {
    match copy.spec.owner_service_reference.object() {
        Some(service) => Key::Service(service),
        None => Key::InvalidReference(kinds::ENDPOINT_SLICE_IMPORT, copy.name.clone()),
    }
}

/// Adds the keys that own what changed, before and after the change, each on the account of the namespace where it changed:
/// of the member's, or of that of a ServiceImport. Returns the namespaces in which exports have changed.
pub(super) fn affected(
    old: &HubSnapshot,
    new: &HubSnapshot,
    keys: &mut Affected<Key>,
) -> BTreeSet<Arc<str>> {
    let mut exporters = BTreeSet::new();
    each_touched(&old.internal_exports, &new.internal_exports, |export| {
        if !exporters.contains(&export.name.namespace) {
            exporters.insert(Arc::clone(&export.name.namespace));
        }
        add(export, keys);
    });
    each_touched(&old.internal_imports, &new.internal_imports, |import| add(import, keys));
    each_touched(&old.slice_exports, &new.slice_exports, |slice| add(slice, keys));
    each_touched(&old.service_imports, &new.service_imports, |import| {
        keys.add_for(&import.name.namespace, Key::Service(import.name.clone()));
    });
    each_touched(&old.slice_imports, &new.slice_imports, |copy| {
        let importer = &copy.name.namespace;
        keys.add_for(importer, key_of_copy(copy));
        // Its spec may have been altered; by its name the slices are found that it may be a copy of.
        let slice = copy.slice_name(&copy.name);
        let slices = new.slice_exports.by(&named(&slice));
        slices.for_each(|slice| keys.add_for(importer, key_of(slice)));
    });
    in_namespaces(old, new, keys);
    exporters
}

/// Whether there is nothing that could affect a key.
pub(super) fn is_empty(snapshot: &HubSnapshot) -> bool {
    snapshot.internal_exports.is_empty()
        && snapshot.internal_imports.is_empty()
        && snapshot.slice_exports.is_empty()
        && snapshot.service_imports.is_empty()
        && snapshot.slice_imports.is_empty()
        && snapshot.namespaces.is_empty()
}

/// Adds the Services that a member exports, on its account.
pub(super) fn of_member(snapshot: &HubSnapshot, member: &str, keys: &mut Affected<Key>) {
    let exports = snapshot.internal_exports.in_namespace(&member_namespace(member));
    exports.for_each(|export| add(export, keys));
}

fn add<T: FromMember>(object: &Object<T>, keys: &mut Affected<Key>) {
    keys.add_for(&object.name.namespace, key_of(object));
}

/// Namespaces that were created or deleted affect the Services in them, and if they are members', the Services that
/// the members import. At first all are new: the exports are read once for all of them.
fn in_namespaces(old: &HubSnapshot, new: &HubSnapshot, keys: &mut Affected<Key>) {
    let mut of_users = BTreeSet::new();
    each_touched(&old.namespaces, &new.namespaces, |namespace| {
        let name = &namespace.name.name;
        if member_of_namespace(name).is_some() {
            new.internal_imports.in_namespace(name).for_each(|import| add(import, keys));
        } else {
            of_users.insert(Arc::clone(name));
        }
    });
    if of_users.is_empty() {
        return;
    }
    for export in new.internal_exports.iter() {
        let key = key_of(export);
        if matches!(&key, Key::Service(service) if of_users.contains(&service.namespace)) {
            keys.add_for(&export.name.namespace, key);
        }
    }
}
