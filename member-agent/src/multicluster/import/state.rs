//! One Service of the clusterset, and what there is of its import in this cluster.

use std::cell::LazyCell;
use std::collections::{BTreeSet, HashSet};

use fleet_accumulator::Object;
use fleet_api::{ObjectName, kinds, labels, names};
use fleet_model::objects::multicluster::{ResolvedService, standard};
use fleet_model::objects::{ManagedIndex, ManagedSlice, Service, SliceIndex};
use jiff::Timestamp;

use super::hub::Hub;
use super::source;
use super::trust::{Evidence, ImportFate, Trust, Word, import_fate, is_too_much, may_remove};
use crate::Settings;
use crate::intent::{self, StandardDecision};
use crate::phase::Phase;
use crate::settings::MulticlusterMode;
use crate::snapshot::MemberSnapshot;
use crate::traffic::Ground;

pub(super) type Import = Object<standard::ServiceImport>;

/// Everything that the import of one Service depends on.
#[derive(Debug)]
pub(super) struct ServiceState<'a> {
    pub(super) settings: &'a Settings,
    pub(super) service: &'a ObjectName,
    pub(super) snapshot: &'a MemberSnapshot,
    pub(super) now: Timestamp,
    /// The hub, if its word counts at all.
    pub(super) hub: Option<Hub<'a>>,
    /// What is in force, if clusters export the Service.
    pub(super) resolved: Option<&'a Object<ResolvedService>>,
    /// The ServiceImport. It is ours: that of another implementation leads to no plan.
    pub(super) import: Option<&'a Import>,
    /// The slices that were imported, own endpoints among them.
    pub(super) imported: Vec<&'a Object<ManagedSlice>>,
    /// What directs the traffic, if policies do.
    pub(super) ground: Option<Ground<'a>>,
    /// Whether more than one hub answers.
    is_hub_distrusted: bool,
}

impl<'a> ServiceState<'a> {
    pub(super) fn of(
        settings: &'a Settings,
        service: &'a ObjectName,
        snapshot: &'a MemberSnapshot,
        now: Timestamp,
    ) -> Self {
        let hub = Hub::of(settings, snapshot);
        let resolved = hub.and_then(|hub| hub.resolved(service));
        Self {
            settings,
            service,
            snapshot,
            now,
            hub,
            resolved: resolved.filter(|resolved| !resolved.exporters.is_empty()),
            import: snapshot.standard_imports.get(service),
            imported: imported(service, snapshot).collect(),
            ground: None,
            is_hub_distrusted: false,
        }
    }

    /// More than one hub answers: nothing of what they show counts.
    pub(super) fn distrust_hub(&mut self) {
        (self.hub, self.resolved) = (None, None);
        self.is_hub_distrusted = true;
    }

    pub(super) fn trust(&self) -> Trust {
        Hub::trust(self.hub)
    }

    /// The name of this cluster.
    pub(super) fn cluster(&self) -> &'a str {
        &self.settings.identity.cluster
    }

    /// An object in the namespace of the Service.
    pub(super) fn beside(&self, name: impl Into<std::sync::Arc<str>>) -> ObjectName {
        ObjectName::new(std::sync::Arc::clone(&self.service.namespace), name)
    }

    /// The imported slice of a name.
    pub(super) fn imported_as(&self, name: &str) -> Option<&'a Object<ManagedSlice>> {
        let slice = self.snapshot.managed_slices.get(&self.beside(name))?;
        let of = slice.managed(&slice.name.namespace)?;
        let is_ours =
            of.service == *self.service && *of.manager == *labels::MANAGED_BY_MULTICLUSTER;
        is_ours.then_some(slice)
    }

    /// Whether objects can be created in the namespace.
    pub(super) fn is_namespace_open(&self) -> bool {
        let namespace = ObjectName::cluster(self.service.namespace.as_ref());
        let namespace = self.snapshot.namespaces.get(&namespace);
        namespace.is_some_and(|namespace| !namespace.terminating)
    }

    /// Whether the watch of managed slices is behind that of all slices: what has just been written shows in either, and a slice
    /// that the first one lacks would be made again under another name. The event of the other requeues the key.
    pub(super) fn is_behind(&self) -> bool {
        let Self { service, snapshot, .. } = self;
        let mut slices = snapshot.endpoint_slices.by(&SliceIndex::ImportedFor((*service).clone()));
        slices.any(|slice| {
            slice.is_imported_by_standard() && snapshot.managed_slices.get(&slice.name).is_none()
        })
    }

    /// Whether the cluster is no member any more, by the word of a hub that counts.
    fn is_dismissed(&self) -> bool {
        let phase = Phase::known(&self.settings.identity, self.snapshot);
        !self.is_hub_distrusted && phase.is_some_and(|phase| !phase.is_member())
    }

    /// Whether the import is not to be, for a reason of this cluster alone.
    pub(super) fn is_unwanted_here(&self) -> bool {
        let Self { settings, service, .. } = self;
        settings.multicluster.mode == MulticlusterMode::CleanUp
            || self.is_dismissed()
            || *service.namespace == *settings.identity.system_namespace
            || settings.denied_namespaces.include(&service.namespace)
            || !settings.multicluster.import_namespaces.include(service)
    }

    /// Whether the hub that counts now is the one that has confirmed the import.
    fn is_marked(&self) -> bool {
        let hub = self.hub.and_then(|hub| hub.incarnation);
        hub.is_some() && self.import.and_then(|import| import.hub()) == hub
    }

    /// Whether what a cluster exported may be forgotten.
    pub(super) fn may_remove(&self, cluster: &str) -> bool {
        let published = self.hub.is_some_and(|hub| hub.may_forget(cluster));
        may_remove(self.trust(), self.is_marked(), published)
    }

    /// The clusters of which slices are imported, or that the import names. Slices are written first.
    fn parts(&self) -> BTreeSet<&'a str> {
        let clusters = self.imported.iter().filter_map(|slice| source::cluster(&slice.slice));
        let named = self.import.into_iter().flat_map(|import| &import.status.clusters);
        clusters.chain(named.map(|named| named.cluster.as_str())).collect()
    }

    /// Whether this cluster is one of them.
    pub(super) fn is_part(&self) -> bool {
        self.parts().contains(self.cluster())
    }

    /// Those whose exports the hub has to know before its word counts. This cluster is none if it no longer exports the Service.
    fn sources(&self) -> BTreeSet<&'a str> {
        let decision = intent::standard_decision(self.settings, self.service, self.snapshot);
        let mut sources = self.parts();
        if decision == StandardDecision::NotExported {
            sources.remove(self.cluster());
        }
        sources
    }

    /// The clusters of which slices are imported here that the hub lacks. Own ones never go through the hub.
    fn lacking(&self) -> HashSet<&'a str> {
        let there = self.hub.into_iter().flat_map(|hub| hub.slices(self.service));
        let there: HashSet<(&str, &str)> =
            there.filter_map(|slice| Some((slice.cluster()?, &*slice.name.name))).collect();
        let imported = self.imported.iter();
        let imported =
            imported.filter_map(|it| Some((source::cluster(&it.slice)?, &*it.name.name)));
        let lacking = imported.filter(|slice| slice.0 != self.cluster() && !there.contains(slice));
        lacking.map(|(cluster, _)| cluster).collect()
    }

    /// What becomes of the import, which exists.
    pub(super) fn fate(&self) -> ImportFate {
        self.fate_if(|| is_lost(self.hub, self.snapshot))
    }

    /// The same, where `is_lost` is known already.
    pub(super) fn fate_if(&self, is_lost: impl FnOnce() -> bool) -> ImportFate {
        let word = self.hub.map_or(Word::Absent, |hub| hub.word(self.service));
        let is_exporter = |cluster: &str| {
            self.resolved.is_some_and(|resolved| resolved.exporter(cluster).is_some())
        };
        let may_forget = |cluster: &str| self.hub.is_some_and(|hub| hub.may_forget(cluster));
        // A backup has slices of everything, older ones.
        let is_awaited = |cluster: &str| self.hub.is_some_and(|hub| hub.is_awaited(cluster));
        let sources = self.sources();
        let all_may_go = sources.iter().all(|cluster| self.may_remove(cluster));
        let lacking = LazyCell::new(|| self.lacking());
        let has_exported = |cluster: &str| {
            is_exporter(cluster) && !is_awaited(cluster) && !lacking.contains(cluster)
        };
        let mut known = sources.iter().map(|cluster| may_forget(cluster) || has_exported(cluster));
        let trust = self.trust();
        let may_go = trust == Trust::Firm && word == Word::Absent && all_may_go;
        let brake = may_go && is_lost();
        let all_known = known.all(|known| known);
        let evidence = Evidence { marked: self.is_marked(), all_may_go, all_known };
        import_fate(trust, word, evidence, brake)
    }

    /// The derived Services of this import: those with its mark, and those that a ServiceImport of its name owns.
    pub(super) fn derived(&self) -> impl Iterator<Item = &'a Object<Service>> {
        let candidates = names::derived_import_candidates(self.service);
        let found = candidates.map(|name| self.snapshot.services.get(&self.beside(name)));
        let is_derived = |service: &&Object<Service>| is_derived(self.service, service);
        found.into_iter().flatten().filter(is_derived).collect::<Vec<_>>().into_iter()
    }
}

/// Whether so many imports are missing on the hub without a word that it has rather lost them. It may read all imports, so it is
/// asked only for one that is missing.
pub(super) fn is_lost(hub: Option<Hub<'_>>, snapshot: &MemberSnapshot) -> bool {
    let Some(hub) = hub else { return false };
    let all = snapshot.standard_imports.tally(standard::ServiceImport::OURS);
    // A hub that has lost everything is known by that at once: each import that it lacks asks.
    let missing_at_least = hub.words().map_or(0, |words| all.saturating_sub(words));
    if is_too_much(missing_at_least, all) {
        return true;
    }
    let ours = snapshot.standard_imports.iter().filter(|import| import.hub().is_some());
    let missing = ours.filter(|import| hub.word(&import.name) == Word::Absent);
    (1..).zip(missing).any(|(missing, _)| is_too_much(missing, all))
}

/// Whether a Service was derived for the import of `service`.
pub(super) fn is_derived(service: &ObjectName, derived: &Object<Service>) -> bool {
    derived.imports().as_ref() == Some(service)
        || derived.meta.owners.iter().any(|owner| is_import(owner, &service.name))
}

/// Whether an owner is the ServiceImport of a name.
pub(super) fn is_import(
    owner: &k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference,
    name: &str,
) -> bool {
    owner.kind == kinds::MCS_SERVICE_IMPORT.kind
        && owner.api_version.starts_with(kinds::MCS_SERVICE_IMPORT.group)
        && owner.name == name
}

/// The slices that were imported for a Service.
pub(super) fn imported<'a>(
    service: &ObjectName,
    snapshot: &'a MemberSnapshot,
) -> impl Iterator<Item = &'a Object<ManagedSlice>> + use<'a> {
    let manager = labels::MANAGED_BY_MULTICLUSTER.into();
    snapshot.managed_slices.by(&ManagedIndex { manager, service: service.clone() })
}
