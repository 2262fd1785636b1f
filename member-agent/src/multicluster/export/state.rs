//! One Service of this cluster and its export on the hub.

use fleet_accumulator::Object;
use fleet_api::ObjectName;
use fleet_model::objects::Service;
use fleet_model::objects::multicluster::{ExportedService, ResolvedService, standard};
use jiff::Timestamp;

use crate::Settings;
use crate::hub_side::HubSide;
use crate::intent::{self, Intent};
use crate::snapshot::MemberSnapshot;

/// Everything that the export of one Service depends on.
#[derive(Debug)]
pub(super) struct ServiceState<'a> {
    pub(super) settings: &'a Settings,
    pub(super) name: &'a ObjectName,
    pub(super) snapshot: &'a MemberSnapshot,
    pub(super) now: Timestamp,
    /// The user's ServiceExport, unless it is being deleted.
    pub(super) export: Option<&'a Object<standard::ServiceExport>>,
    /// What it leads to.
    pub(super) intent: Intent<'a>,
    /// The hub's side, if it is known.
    pub(super) hub: Option<HubSide<'a>>,
    /// The export that counts on the hub.
    pub(super) current: Option<&'a Object<ExportedService>>,
    /// The Service, if it is exported.
    pub(super) exported: Option<&'a Object<Service>>,
    /// What is in force for the Service, if the hub lists this cluster among its exporters.
    pub(super) resolved: Option<&'a Object<ResolvedService>>,
}

impl<'a> ServiceState<'a> {
    pub(super) fn of(
        settings: &'a Settings,
        name: &'a ObjectName,
        snapshot: &'a MemberSnapshot,
        now: Timestamp,
    ) -> Self {
        let (hub, export) = (HubSide::of(snapshot), intent::export_of(name, snapshot));
        let intent = Intent::of(settings, name, snapshot);
        let current = hub.and_then(|hub| intent::current(hub, name));
        let exported = export
            .and_then(|export| intent.exported(export, current.map(|current| &*current.object)));
        let in_force = exported.and(current).and(hub);
        let cluster = &settings.identity.cluster;
        Self {
            settings,
            name,
            snapshot,
            now,
            export,
            intent,
            hub,
            current,
            exported,
            resolved: in_force
                .and_then(|hub| hub.resolved(name))
                .filter(|resolved| resolved.exporter(cluster).is_some()),
        }
    }

    /// Whether the namespace is being deleted: nothing is written there any more.
    pub(super) fn is_namespace_terminating(&self) -> bool {
        let namespace = ObjectName::cluster(self.name.namespace.as_ref());
        let namespace = self.snapshot.namespaces.get(&namespace);
        namespace.is_some_and(|namespace| namespace.terminating)
    }
}
