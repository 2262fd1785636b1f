//! The objects of one Service of the fleet, in one snapshot of the hub.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_accumulator::{Object, Uid};
use fleet_api::{ObjectName, annotations, finalizers};
use fleet_model::hub_schema::HubSchema;
use fleet_model::namespaces::namespace_accepts_objects;
use fleet_model::objects::traffic::FleetTraffic;
use fleet_model::objects::{EndpointSliceImport, HasMeta, ServiceImport, named};
use fleet_model::owners::is_controlled_by_mcs;
use fleet_model::precedence::Precedence;

use super::keys::{FromMember, owner_of};
pub use super::owned::{Export, Owned, Request, SliceExport};
use super::refusal::{self, Refusal};
use crate::Settings;
use crate::snapshot::HubSnapshot;
use crate::verdicts::Verdicts;

/// The objects of one Service of the fleet, without those whose reference is invalid.
#[derive(Debug)]
pub struct ServiceState<'a> {
    /// Settings of the agent.
    pub settings: &'a Settings,
    /// Which fields of slices the hub serves; `None` until that is known.
    pub schema: Option<HubSchema>,
    /// Namespace and name, the same in all clusters.
    pub service: &'a ObjectName,
    /// The ServiceImport on the hub.
    pub import: Option<&'a Object<ServiceImport>>,
    /// Exports, oldest first.
    pub exports: Vec<Export<'a>>,
    /// Requests, oldest first.
    pub requests: Vec<Request<'a>>,
    /// Exports and requests that do not count, by uid.
    refusals: BTreeMap<&'a Uid, Refusal<'a>>,
    /// Exported slices, oldest first.
    pub slice_exports: Vec<SliceExport<'a>>,
    /// Copies of exported slices, in the importers' namespaces.
    pub slice_imports: Vec<&'a Object<EndpointSliceImport>>,
    /// Whether exporters may be missing that are about to come back.
    pub(super) is_being_rebuilt: bool,
    verdicts: Verdicts<'a>,
    pub(super) snapshot: &'a HubSnapshot,
}

impl<'a> ServiceState<'a> {
    /// Reads a Service from a snapshot; the cost depends on the size of the Service, not of the fleet.
    pub fn of(settings: &'a Settings, service: &'a ObjectName, snapshot: &'a HubSnapshot) -> Self {
        let import = snapshot.service_imports.get(service);
        let exports = owned(snapshot.internal_exports.by(service));
        let requests = owned(snapshot.internal_imports.by(service));
        let mut refusals = refusal::refusals(settings, service, &exports, snapshot);
        let all_exports = &snapshot.internal_exports;
        let without_place = refusal::without_place(settings, all_exports, &exports, &refusals);
        refusals.extend(without_place);
        refusals.append(&mut refusal::refusals(settings, service, &requests, snapshot));
        Self {
            settings,
            schema: HubSchema::known(&snapshot.schema),
            service,
            import: import.filter(|import| is_of_hub(import)),
            refusals,
            exports,
            requests,
            slice_exports: owned(snapshot.slice_exports.by(service)),
            slice_imports: snapshot.slice_imports.by(service).collect(),
            is_being_rebuilt: FleetTraffic::is_rebuilding(
                &snapshot.fleet_traffics,
                settings.traffic,
            ),
            verdicts: Verdicts::of(settings, snapshot),
            snapshot,
        }
    }

    /// The ServiceImport, unless it is being deleted.
    pub fn live_import(&self) -> Option<&'a Object<ServiceImport>> {
        self.import.filter(|import| !import.meta.is_terminating())
    }

    /// The ServiceImport, if it is being deleted and has no finalizer but the hub agent's.
    pub fn releasable_import(&self) -> Option<&'a Object<ServiceImport>> {
        let import = self.import.filter(|import| import.meta.is_terminating())?;
        let mut finalizers = import.meta.finalizers.iter();
        finalizers.all(|finalizer| **finalizer == *finalizers::SERVICE_IMPORT).then_some(import)
    }

    /// Whether objects can be created in the namespace of the Service.
    pub fn namespace_accepts_objects(&self) -> bool {
        namespace_accepts_objects(&self.snapshot.namespaces, &self.service.namespace)
    }

    /// Exports that count, oldest first: of each member at most one.
    pub fn live_exports(&self) -> impl Iterator<Item = Export<'a>> {
        self.counting(&self.exports)
    }

    /// Exports that do not count, and why.
    pub(super) fn refused_exports(&self) -> impl Iterator<Item = (Export<'a>, Refusal<'a>)> {
        self.refused_in(&self.exports)
    }

    /// Exports that are being deleted, oldest first.
    pub fn terminating_exports(&self) -> impl Iterator<Item = Export<'a>> {
        self.exports.iter().copied().filter(|export| export.object.meta.is_terminating())
    }

    /// Requests that count, oldest first: of each member at most one.
    pub fn live_requests(&self) -> impl Iterator<Item = Request<'a>> {
        self.counting(&self.requests)
    }

    /// Requests that do not count, and why.
    pub(super) fn refused_requests(&self) -> impl Iterator<Item = (Request<'a>, Refusal<'a>)> {
        self.refused_in(&self.requests)
    }

    /// Exports that the policy of their member forbids.
    pub(super) fn denied_exports(&self) -> impl Iterator<Item = Export<'a>> {
        denied(self.refused_exports())
    }

    /// Requests that the policy of their member forbids.
    pub(super) fn denied_requests(&self) -> impl Iterator<Item = Request<'a>> {
        denied(self.refused_requests())
    }

    /// Whether a request may not be granted any more, even if it is.
    pub(super) fn is_forbidden(&self, request: &Request<'_>) -> bool {
        self.refusals.get(&request.object.uid) == Some(&Refusal::PolicyDenied)
    }

    /// Requests that are being deleted, oldest first.
    pub fn terminating_requests(&self) -> impl Iterator<Item = Request<'a>> {
        self.requests.iter().copied().filter(|request| request.object.meta.is_terminating())
    }

    /// What the silence of its member means to an export.
    pub(super) fn precedence(&self, export: &Export<'_>) -> Precedence {
        self.verdicts.precedence(export.member)
    }

    fn counting<T: HasMeta>(&self, owned: &[Owned<'a, T>]) -> impl Iterator<Item = Owned<'a, T>> {
        let counts = |it: &Owned<'a, T>| {
            !it.object.meta().is_terminating() && !self.refusals.contains_key(&it.object.uid)
        };
        owned.iter().copied().filter(counts)
    }

    fn refused_in<T>(
        &self,
        owned: &[Owned<'a, T>],
    ) -> impl Iterator<Item = (Owned<'a, T>, Refusal<'a>)> {
        owned.iter().filter_map(|it| Some((*it, *self.refusals.get(&it.object.uid)?)))
    }

    /// Copies of slices of this name in all namespaces, of any Service and under any name.
    pub fn copies_named(
        &self,
        name: &Arc<str>,
    ) -> impl Iterator<Item = &'a Object<EndpointSliceImport>> + use<'a> {
        self.snapshot.slice_imports.by(&named(name))
    }

    /// Exported slices of this name in all namespaces, of any Service.
    pub fn slices_named(&self, name: &Arc<str>) -> impl Iterator<Item = SliceExport<'a>> + use<'a> {
        let slices = self.snapshot.slice_exports.by(&named(name));
        slices.filter_map(|object| Some(Owned { member: owner_of(object)?, object }))
    }
}

fn denied<'a, T: 'a>(
    refused: impl Iterator<Item = (Owned<'a, T>, Refusal<'a>)>,
) -> impl Iterator<Item = Owned<'a, T>> {
    refused.filter(|(_, why)| *why == Refusal::PolicyDenied).map(|(it, _)| it)
}

/// Whether a ServiceImport is the hub's. On a hub that is also a member, a MultiClusterService owns that of the member
/// agent; if it has a claim nevertheless, which only hub agents write, a user has added the owner.
fn is_of_hub(import: &Object<ServiceImport>) -> bool {
    !is_controlled_by_mcs(&import.object.meta)
        || import.object.meta.annotation(annotations::SERVICE_IN_USE_BY).is_some()
}

/// Sorts by creation time on the hub, then member, then uid, so that every hub agent has the same order.
fn owned<'a, T: FromMember + HasMeta>(
    objects: impl Iterator<Item = &'a Object<T>>,
) -> Vec<Owned<'a, T>> {
    let owned = |object| owner_of(object).map(|member| Owned { member, object });
    let mut owned: Vec<_> = objects.filter_map(owned).collect();
    owned.sort_by(|a, b| {
        let age = |owned: &Owned<'a, T>| (owned.object.meta().created, owned.member);
        age(a).cmp(&age(b)).then_with(|| a.object.uid.cmp(&b.object.uid))
    });
    owned
}
