//! Views of objects, as watches would show them.

use fleet_accumulator::{ClusterId, Object, SourceInfo, Tracked, View, Views};
use fleet_api::{ObjectName, labels, names};
use fleet_model::hub_schema::HubSchema;
use serde::Deserialize as _;
use serde_json::Value;

use super::cluster::ClusterObjects;
use super::state::KindState;

/// The selection of one name, as field selectors have it.
const NAMED: &str = "metadata.name=";
/// A source that has only the slices that agents write.
const MANAGED: &str = "managed_slices";

/// Which part of the objects of a kind a source has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    /// Only those of this namespace.
    pub(crate) namespace: Option<&'a str>,
    named: Option<&'static str>,
    managed: bool,
}

impl<'a> Part<'a> {
    /// That of a source for an agent. `namespace` is that of a member on the hub: it sees nothing else there, but for what all
    /// members read.
    pub(crate) fn of<T: Tracked>(source: &SourceInfo, namespace: Option<&'a str>) -> Self {
        let namespace =
            namespace.filter(|_| source.cluster == ClusterId::Hub && source.kind.namespaced);
        let namespace = namespace.and_then(|own| match source.field {
            "resolved_services" => Some(names::SYSTEM_NAMESPACE),
            "fleet_slices" | "fleet_reports" | "hub_service_traffics" => None,
            _ => Some(own),
        });
        let named = T::FIELDS.and_then(|fields| fields.strip_prefix(NAMED));
        Self { namespace, named, managed: source.field == MANAGED }
    }

    /// Whether it has the object of this name.
    pub(crate) fn has(&self, name: &ObjectName) -> bool {
        self.namespace.is_none_or(|namespace| *name.namespace == *namespace)
            && self.named.is_none_or(|named| *name.name == *named)
    }

    /// Whether it has what an agent wrote, with this value of the label that names it.
    fn is_managed_by(&self, manager: Option<&str>) -> bool {
        let ours = [labels::MANAGED_BY_IMPORT, labels::MANAGED_BY_MULTICLUSTER];
        !self.managed || manager.is_some_and(|manager| ours.contains(&manager))
    }

    /// The object, if the part has it; an error if it cannot be read as its kind.
    pub(crate) fn object<T: Tracked>(
        &self,
        name: &ObjectName,
        object: &Value,
    ) -> Option<Result<Object<T>, ObjectName>> {
        let manager = object["metadata"]["labels"][labels::MANAGED_BY].as_str();
        if !self.has(name) || !self.is_managed_by(manager) {
            return None;
        }
        Some(decoded::<T>(name, object).ok_or_else(|| name.clone()))
    }
}

/// An object as its kind, if it can be read as that.
pub(crate) fn decoded<T: Tracked>(name: &ObjectName, object: &Value) -> Option<Object<T>> {
    let wire = T::Wire::deserialize(object).ok()?;
    let object = Object::read(wire).ok()?;
    Some(Object { name: name.clone(), ..object })
}

/// The views of an agent that watches one cluster alone.
pub(super) struct OfCluster<'a> {
    objects: &'a ClusterObjects,
    cluster: ClusterId,
}

impl<'a> OfCluster<'a> {
    pub(super) fn new(objects: &'a ClusterObjects, cluster: ClusterId) -> Self {
        Self { objects, cluster }
    }
}

impl Views for OfCluster<'_> {
    fn view<T: Tracked>(&self, source: &SourceInfo) -> View<T> {
        if source.cluster != self.cluster {
            return View::of([]);
        }
        let Some(of_kind) = self.objects.kinds.get(&source.kind) else {
            return absent(source);
        };
        let part = Part::of::<T>(source, None);
        let of_part = of_kind.objects.iter().filter(|(name, _)| part.has(name));
        let (mut objects, mut defects) = (Vec::new(), Vec::new());
        for object in of_part.filter_map(|(name, text)| read(&part, name, text)) {
            match object {
                Ok(object) => objects.push(object),
                Err(name) => defects.push(name),
            }
        }
        let view = defects.into_iter().fold(View::of(objects), View::with_defect);
        of_kind.state.apply(view)
    }
}

/// Most objects need no second form, so that a large fleet is read in little memory.
fn read<T: Tracked>(
    part: &Part<'_>,
    name: &ObjectName,
    text: &str,
) -> Option<Result<Object<T>, ObjectName>> {
    if part.managed {
        let Ok(object) = serde_json::from_str::<Value>(text) else {
            return Some(Err(name.clone()));
        };
        return part.object(name, &object);
    }
    let wire = serde_json::from_str::<T::Wire>(text).ok();
    let object = wire.and_then(|wire| Object::read(wire).ok());
    Some(object.map(|object| Object { name: name.clone(), ..object }).ok_or_else(|| name.clone()))
}

/// A kind that was not asked for. The schema of a hub is known as absent, everything else as not served.
fn absent<T: Tracked>(source: &SourceInfo) -> View<T> {
    if source.kind == HubSchema::KIND || !source.optional {
        return View::of([]);
    }
    KindState::Missing.apply(View::of([]))
}
