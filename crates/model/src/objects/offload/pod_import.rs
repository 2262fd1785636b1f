//! `PodImport`.

use std::sync::Arc;

use fleet_accumulator::{Meta, Tracked, wire};
use fleet_api::offload::{self, PodExportSpec, PodImportSpec, PodImportStatus, StopRequest};
use fleet_api::{ObjectName, ResourceKind, kinds};

use super::shared_spec::share;
use crate::objects::missing::MISSING;

wire! {
    /// A `PodImport` on the wire.
    pub struct PodImportWire as offload::PodImport {
        spec: Option<PodImportSpec>,
        status: Option<PodImportStatus>,
    }
}

/// What one executor runs for one Pod.
#[derive(Clone, Debug, PartialEq)]
pub struct PodImport {
    /// Metadata.
    pub meta: Meta,
    /// What crosses; nothing if it cannot be decoded.
    pub export: Arc<PodExportSpec>,
    /// Set when the Pod has to end.
    pub stop: Option<StopRequest>,
    /// What the executor has reported, within its bound, whatever it has written.
    pub status: PodImportStatus,
    /// Why its spec cannot be decoded.
    pub unreadable: Option<Box<str>>,
}

impl PodImport {
    /// The member and the uid that an import of this name is for, as [`offload::PodImport`] has it.
    pub fn source(name: &str) -> Option<(&str, &str)> {
        let (uid, member) = name.rsplit_once('.')?;
        Some((member, uid))
    }

    /// Its spec, as the hub agent wrote it.
    pub fn to_spec(&self) -> PodImportSpec {
        PodImportSpec { export: (*self.export).clone(), stop: self.stop.clone() }
    }
}

impl Tracked for PodImport {
    const KIND: ResourceKind = kinds::POD_IMPORT;
    type Wire = PodImportWire;
    type Index = ObjectName;

    fn project(wire: PodImportWire) -> Result<Self, String> {
        Self::salvage(wire, MISSING)
    }

    fn salvage(wire: PodImportWire, defect: &str) -> Result<Self, String> {
        let unreadable = wire.spec.is_none().then(|| defect.into());
        let PodImportSpec { export, stop } = wire.spec.unwrap_or_default();
        Ok(Self {
            meta: Meta::from_object(&wire.metadata),
            export: share(export),
            stop,
            status: wire.status.unwrap_or_default().bounded(),
            unreadable,
        })
    }

    /// By member and uid of the Pod, and by the member alone.
    fn index(&self, name: &ObjectName) -> Vec<ObjectName> {
        let Some((member, uid)) = Self::source(&name.name) else { return Vec::new() };
        vec![ObjectName::new(member, uid), ObjectName::cluster(member)]
    }

    /// By the namespace of its executor.
    fn tally(&self, name: &ObjectName) -> Option<Arc<str>> {
        Some(Arc::clone(&name.namespace))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::PodExport;
    use super::*;

    fn spec() -> Value {
        json!({
            "origin": { "cluster": "east", "namespace": "shop", "name": "web-0", "uid": "u-1" },
            "executor": "west", "specHash": "h", "pod": { "containers": [] },
        })
    }

    fn import(object: Value) -> PodImport {
        PodImport::project(serde_json::from_value(object).unwrap()).unwrap()
    }

    #[test]
    fn export_and_import_share_what_crosses() {
        let export = json!({ "metadata": { "name": "u-1" }, "spec": spec() });
        let export = PodExport::project(serde_json::from_value(export).unwrap()).unwrap();
        let import = import(json!({
            "metadata": { "name": "u-1.east" },
            "spec": { "export": spec() }, "status": { "released": true },
        }));
        assert!(Arc::ptr_eq(&export.spec, &import.export));
        assert!(import.status.released && import.stop.is_none());
        assert_eq!(export.index(&ObjectName::new("a", "u-1")), ["west".into()]);
        let expected = [ObjectName::new("east", "u-1"), ObjectName::cluster("east")];
        assert_eq!(import.index(&ObjectName::new("fleet-member-west", "u-1.east")), expected);
    }

    #[test]
    fn a_uid_with_dots_is_one_uid() {
        assert_eq!(PodImport::source("a.b.east"), Some(("east", "a.b")));
        assert_eq!(PodImport::source("nothing"), None);
    }

    #[test]
    fn what_cannot_be_decoded_can_be_released() {
        let import = import(json!({
            "metadata": { "name": "u-1.east", "finalizers": ["f"] },
            "status": { "released": true },
        }));
        assert!(import.unreadable.is_some() && import.meta.has_finalizer("f"));
        assert_eq!(import.index(&ObjectName::new("n", "u-1.east")).len(), 2);
    }
}
