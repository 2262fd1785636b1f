//! Whether a Service of this cluster is exported through the standard API of SIG Multicluster.
//!
//! Both controllers that write on the hub what is exported read it here: `multicluster`, which offers the Service, and
//! `export`, which carries its endpoints for both APIs.

use fleet_accumulator::{Object, SourceSet};
use fleet_api::multicluster::standard::CLUSTER_ID;
use fleet_api::{ObjectName, kinds};
use fleet_model::objects::multicluster::{ExportedService, standard};
use fleet_model::objects::{Service, by_age};

use crate::Settings;
use crate::denied::is_denied;
use crate::hub_side::{Claim, HubSide, is_known};
use crate::phase::Phase;
use crate::settings::MulticlusterMode;
use crate::snapshot::MemberSnapshot;

/// Most ports that a Service of the clusterset can have.
const MAX_PORTS: usize = fleet_api::limits::exported::PORTS.accepted;

/// The decision on the endpoints of a Service that a ServiceExport of the standard API names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StandardDecision {
    /// It is not to be exported.
    NotExported,
    /// It is to be exported, and the hub has not listed this cluster among its exporters yet. Or it is not known.
    Undecided,
    /// The hub lists this cluster among its exporters.
    Accepted,
}

/// What a ServiceExport of the standard API leads to.
#[derive(Clone, Debug, PartialEq)]
pub enum Intent<'a> {
    /// The Service is exported.
    Export(&'a Object<Service>),
    /// What is exported of it stays so, nothing new is exported.
    Hold(&'a Object<Service>, Hold<'a>),
    /// It is not exported.
    Withdraw(Withdrawal<'a>),
}

/// Why nothing new is exported of a Service that may be exported otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold<'a> {
    /// The API server has not given it an address yet.
    NoAddress,
    /// Services of its namespace are not exported.
    Denied,
    /// The ClusterProperty of this cluster has another id than the fleet.
    OtherId(&'a str),
    /// The hub does not know this cluster as the member, or has not answered.
    Unclaimed,
}

/// Why a Service is not exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withdrawal<'a> {
    /// The agent is to delete what it made for this API.
    CleanUp,
    /// The member is leaving the fleet, or has left.
    NoMember,
    /// The namespace is the agents' own.
    SystemNamespace,
    /// The hub does not accept this member, for this reason.
    Refused(&'a str),
    /// The Service is absent or being deleted.
    NoService,
    /// No Service of its type is exported.
    ExternalName,
    /// It was made for an import: exporting it would export an import.
    Imported,
    /// It has more ports than an import can have.
    TooManyPorts(usize),
}

impl<'a> Intent<'a> {
    /// What the ServiceExport of a Service leads to. It exists and is not being deleted.
    pub(crate) fn of(
        settings: &Settings,
        service: &ObjectName,
        snapshot: &'a MemberSnapshot,
    ) -> Self {
        match withdrawal(settings, service, snapshot) {
            Ok(service) => match hold(settings, service, snapshot) {
                Some(hold) => Self::Hold(service, hold),
                None => Self::Export(service),
            },
            Err(withdrawal) => Self::Withdraw(withdrawal),
        }
    }

    /// The Service, if it is exported. `current` is what the hub has of it.
    pub(crate) fn exported(
        &self,
        export: &Object<standard::ServiceExport>,
        current: Option<&ExportedService>,
    ) -> Option<&'a Object<Service>> {
        match self {
            Self::Export(service) => Some(service),
            Self::Hold(service, Hold::NoAddress) => current.map(|_| *service),
            Self::Hold(service, _) => {
                current.filter(|current| is_of(current, export, service)).map(|_| *service)
            }
            Self::Withdraw(_) => None,
        }
    }
}

/// Whether what the hub has is of this very ServiceExport and Service.
fn is_of(
    current: &ExportedService,
    export: &Object<standard::ServiceExport>,
    service: &Object<Service>,
) -> bool {
    current.export_uid == export.uid && current.service_uid == service.uid
}

/// The decision on the endpoints of a Service, from what the hub has of it.
///
/// While something that it depends on is not known, nothing changes.
pub(crate) fn standard_decision(
    settings: &Settings,
    service: &ObjectName,
    snapshot: &MemberSnapshot,
) -> StandardDecision {
    if !settings.multicluster.is_watched() {
        // Switching the API off is no outage: what it has exported stays, as while it is not known.
        let is_member = Phase::of(&settings.identity, snapshot).is_member();
        return if is_member { StandardDecision::Undecided } else { StandardDecision::NotExported };
    }
    if !is_local_known(snapshot) {
        return StandardDecision::Undecided;
    }
    let Some(export) = export_of(service, snapshot) else { return StandardDecision::NotExported };
    if foreign_import(service, snapshot).is_some() {
        return StandardDecision::Undecided;
    }
    let intent = Intent::of(settings, service, snapshot);
    if matches!(intent, Intent::Withdraw(_)) {
        return StandardDecision::NotExported;
    }
    let Some(hub) = HubSide::of(snapshot) else { return StandardDecision::Undecided };
    let current = current(hub, service);
    match intent.exported(export, current.map(|current| &*current.object)) {
        // The hub, or another one in its place, has lost this cluster, and is about to accept it again.
        None if current.is_none() && matches!(intent, Intent::Hold(_, Hold::Unclaimed)) => {
            StandardDecision::Undecided
        }
        None => StandardDecision::NotExported,
        Some(_) if current.is_some() && is_listed(settings, hub, service) => {
            StandardDecision::Accepted
        }
        Some(_) => StandardDecision::Undecided,
    }
}

/// The same for who does not wait for a list of ServiceExports in each term: a process that begins to lead may see them as they were.
/// What the hub has of one is withdrawn by a controller that has listed them, and the endpoints follow.
pub(crate) fn unhurried_decision(
    settings: &Settings,
    service: &ObjectName,
    snapshot: &MemberSnapshot,
) -> StandardDecision {
    let decision = standard_decision(settings, service, snapshot);
    let on_hub = || HubSide::of(snapshot).and_then(|hub| current(hub, service)).is_some();
    let is_unseen = settings.multicluster.is_watched() && export_of(service, snapshot).is_none();
    if decision == StandardDecision::NotExported && is_unseen && on_hub() {
        return StandardDecision::Undecided;
    }
    decision
}

/// The ServiceExport of a Service, unless it is being deleted.
pub(crate) fn export_of<'a>(
    service: &ObjectName,
    snapshot: &'a MemberSnapshot,
) -> Option<&'a Object<standard::ServiceExport>> {
    snapshot.standard_exports.get(service).filter(|export| !export.meta.is_terminating())
}

/// The export of a Service that counts on the hub, of those that are not being deleted: the oldest.
pub(crate) fn current<'a>(
    hub: HubSide<'a>,
    service: &ObjectName,
) -> Option<&'a Object<ExportedService>> {
    let live = hub.exported(service).filter(|exported| !exported.meta.is_terminating());
    live.min_by(|a, b| by_age(a, b))
}

/// Whether the hub lists this cluster among the exporters of a Service.
pub(crate) fn is_listed(settings: &Settings, hub: HubSide<'_>, service: &ObjectName) -> bool {
    let resolved = hub.resolved(service);
    resolved.is_some_and(|resolved| resolved.exporter(&settings.identity.cluster).is_some())
}

/// A ServiceImport of the Service's name that is not ours: another implementation serves it in this cluster.
pub(crate) fn foreign_import<'a>(
    service: &ObjectName,
    snapshot: &'a MemberSnapshot,
) -> Option<&'a Object<standard::ServiceImport>> {
    let import = snapshot.standard_imports.get(service);
    import.filter(|import| import.hub().is_none())
}

/// Whether this cluster's objects of the standard API are known.
pub(crate) fn is_local_known(snapshot: &MemberSnapshot) -> bool {
    is_known(&snapshot.standard_exports)
        && is_known(&snapshot.standard_imports)
        && is_known(&snapshot.services)
}

/// What the decisions depend on.
pub(crate) fn sources() -> SourceSet {
    Phase::sources().union(SourceSet::from([
        MemberSnapshot::services(),
        MemberSnapshot::standard_exports(),
        MemberSnapshot::standard_imports(),
        MemberSnapshot::cluster_properties(),
        MemberSnapshot::exported_services(),
        MemberSnapshot::resolved_services(),
    ]))
}

/// What the exports of all Services depend on.
#[derive(Debug, PartialEq)]
pub(crate) struct Circumstances<'a> {
    phase: Option<Phase>,
    claim: Option<Claim<'a>>,
    is_stale: bool,
    is_local_known: bool,
    is_id_known: bool,
    other_id: Option<&'a str>,
}

impl<'a> Circumstances<'a> {
    pub(crate) fn of(settings: &Settings, snapshot: &'a MemberSnapshot) -> Self {
        let hub = HubSide::of(snapshot);
        Self {
            phase: Phase::known(&settings.identity, snapshot),
            claim: hub.map(|hub| hub.claim(&settings.identity)),
            is_stale: hub.is_some_and(HubSide::is_stale),
            is_local_known: is_local_known(snapshot),
            is_id_known: is_id_known(snapshot),
            other_id: other_id(settings, snapshot),
        }
    }
}

fn withdrawal<'a>(
    settings: &Settings,
    service: &ObjectName,
    snapshot: &'a MemberSnapshot,
) -> Result<&'a Object<Service>, Withdrawal<'a>> {
    let identity = &settings.identity;
    if settings.multicluster.mode == MulticlusterMode::CleanUp {
        return Err(Withdrawal::CleanUp);
    }
    if Phase::known(identity, snapshot).is_some_and(|phase| !phase.is_member()) {
        return Err(Withdrawal::NoMember);
    }
    if *service.namespace == identity.system_namespace {
        return Err(Withdrawal::SystemNamespace);
    }
    if let Some(Claim::Refused(why)) = HubSide::of(snapshot).map(|hub| hub.claim(identity)) {
        return Err(Withdrawal::Refused(why));
    }
    let service = snapshot.services.get(service).filter(|service| !service.meta.is_terminating());
    let service = service.ok_or(Withdrawal::NoService)?;
    if service.service_type == "ExternalName" {
        return Err(Withdrawal::ExternalName);
    }
    if is_imported(service) {
        return Err(Withdrawal::Imported);
    }
    if service.ports.len() > MAX_PORTS {
        return Err(Withdrawal::TooManyPorts(service.ports.len()));
    }
    Ok(service)
}

/// Whether an agent of either API made the Service for an import.
fn is_imported(service: &Object<Service>) -> bool {
    let is_import = |kind: &str| kind == kinds::MCS_SERVICE_IMPORT.kind;
    service.imports().is_some()
        || service.derived_for().is_some()
        || service.meta.owners.iter().any(|owner| is_import(&owner.kind))
}

fn hold<'a>(
    settings: &Settings,
    service: &Object<Service>,
    snapshot: &'a MemberSnapshot,
) -> Option<Hold<'a>> {
    let identity = &settings.identity;
    let claim = HubSide::of(snapshot).map(|hub| hub.claim(identity));
    if is_denied(settings, &snapshot.namespaces, &service.name.namespace) {
        Some(Hold::Denied)
    } else if let Some(id) = other_id(settings, snapshot) {
        Some(Hold::OtherId(id))
    } else if !matches!(claim, Some(Claim::Accepted(_))) || !is_id_known(snapshot) {
        Some(Hold::Unclaimed)
    } else if service.cluster_ip.as_deref().is_none_or(str::is_empty) {
        Some(Hold::NoAddress)
    } else {
        None
    }
}

/// Whether it is known if this cluster has another id: its properties were listed, or there are none to list.
fn is_id_known(snapshot: &MemberSnapshot) -> bool {
    snapshot.cluster_properties.has_answered()
}

/// The id that the ClusterProperty gives this cluster, if it is not the one in the fleet.
pub(crate) fn other_id<'a>(settings: &Settings, snapshot: &'a MemberSnapshot) -> Option<&'a str> {
    let property = snapshot.cluster_properties.get(&ObjectName::cluster(CLUSTER_ID))?;
    (*property.value != *settings.identity.cluster).then_some(&*property.value)
}
