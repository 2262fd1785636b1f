//! One Service of this cluster and its objects on the hub.

use fleet_accumulator::{Object, Snapshot as _, SourceSet};
use fleet_api::ObjectName;
use fleet_model::hub_schema::HubSchema;
use fleet_model::objects::traffic::FleetTraffic;
use fleet_model::objects::{
    EndpointSlice, EndpointSliceExport, InternalServiceExport, Service, ServiceExport, SliceIndex,
    by_age,
};
use jiff::Timestamp;

use crate::denied::is_denied;
use crate::executing::Executing;
use crate::intent::{self, StandardDecision};
use crate::phase::Phase;
use crate::slicing;
use crate::snapshot::MemberSnapshot;
use crate::{Identity, Settings};

/// Whether the hub waits for what its members have yet to bring back, as far as this process knows: what it has of exports has just gone
/// back in its history, or its agent has not decided that it is over.
pub(super) fn is_hub_rebuilt(settings: &Settings, snapshot: &MemberSnapshot) -> bool {
    let exports =
        SourceSet::from([MemberSnapshot::internal_exports(), MemberSnapshot::slice_exports()]);
    snapshot.is_settling(exports)
        || FleetTraffic::is_rebuilding(&snapshot.fleet_traffics, settings.traffic.enabled)
}

/// Everything the export of one Service depends on.
#[derive(Debug)]
pub(super) struct ServiceState<'a> {
    pub(super) settings: &'a Settings,
    pub(super) identity: &'a Identity,
    /// Whether nothing new is exported from its namespace.
    pub(super) denied: bool,
    pub(super) name: &'a ObjectName,
    pub(super) snapshot: &'a MemberSnapshot,
    pub(super) now: Timestamp,
    /// What slices can carry on the hub.
    pub(super) schema: Option<HubSchema>,
    /// Which members run endpoints of this one.
    pub(super) executing: Executing<'a>,
    /// Whether this member is joined, leaving or has left.
    pub(super) phase: Phase,
    /// The user's ServiceExport.
    pub(super) export: Option<&'a Object<ServiceExport>>,
    pub(super) service: Option<&'a Object<Service>>,
    /// Whether the Service is exported through the standard API.
    pub(super) standard: StandardDecision,
    /// Whether the Service's endpoints are addresses on a secondary network.
    pub(super) on_network: bool,
    /// Slices that back the Service.
    pub(super) slices: Vec<&'a Object<EndpointSlice>>,
    /// Each InternalServiceExport of the Service on the hub.
    pub(super) internal_exports: Vec<&'a Object<InternalServiceExport>>,
    /// Each EndpointSliceExport of the Service on the hub.
    pub(super) slice_exports: Vec<&'a Object<EndpointSliceExport>>,
}

impl<'a> ServiceState<'a> {
    pub(super) fn of(
        settings: &'a Settings,
        name: &'a ObjectName,
        snapshot: &'a MemberSnapshot,
        now: Timestamp,
    ) -> Self {
        let service = snapshot.services.get(name);
        Self {
            settings,
            on_network: slicing::is_on_network(settings, service),
            standard: intent::unhurried_decision(settings, name, snapshot),
            identity: &settings.identity,
            denied: is_denied(settings, &snapshot.namespaces, &name.namespace),
            name,
            snapshot,
            now,
            phase: Phase::of(&settings.identity, snapshot),
            schema: HubSchema::known(&snapshot.schema),
            executing: Executing::of(settings, snapshot),
            export: snapshot.service_exports.get(name),
            service,
            slices: snapshot.endpoint_slices.by(&SliceIndex::Backs(name.clone())).collect(),
            internal_exports: snapshot.internal_exports.by(name).collect(),
            slice_exports: snapshot.slice_exports.by(name).collect(),
        }
    }

    /// The InternalServiceExport of this very Service, whatever its name. The hub agent accepts the oldest.
    pub(super) fn current(
        &self,
        service: &Object<Service>,
    ) -> Option<&'a Object<InternalServiceExport>> {
        let exports = self.internal_exports.iter().copied();
        let exports = exports
            .filter(|export| !export.meta.is_terminating() && export.reference.uid == service.uid);
        exports.min_by(|a, b| by_age(a, b))
    }

    /// The InternalServiceExport of an earlier Service of this name, on a hub that has just gone back in its history: importers use its
    /// endpoints, which are those of the present Service, so it is kept for that one. At other times it goes, and the next takes its
    /// place in the order of age (docs/design/contract.md).
    pub(super) fn restored(&self) -> Option<&'a Object<InternalServiceExport>> {
        let restored =
            self.snapshot.went_back(SourceSet::from([MemberSnapshot::internal_exports()]));
        let exports = self.internal_exports.iter().copied().filter(|_| restored);
        exports.filter(|export| !export.meta.is_terminating()).min_by(|a, b| by_age(a, b))
    }

    /// The object name in this member's namespace on the hub.
    pub(super) fn on_hub(&self, name: &str) -> ObjectName {
        ObjectName::new(self.identity.hub_namespace.as_str(), name)
    }
}
