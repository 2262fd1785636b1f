//! The path from the hub to an importer's clients.

use fleet_accumulator::Object;
use fleet_api::annotations::MULTICLUSTER_DERIVED_SERVICE;
use fleet_api::conditions::standard::IP_FAMILY_NOT_SUPPORTED;
use fleet_api::conditions::{READY, TRUE};
use fleet_api::multicluster::ServiceType;
use fleet_api::multicluster::standard::CLUSTER_ID;
use fleet_api::names::derived_import_candidates;
use fleet_api::{ObjectName, kinds};
use fleet_model::namespaces::namespace_accepts_objects;
use fleet_model::objects::Service;
use fleet_model::objects::multicluster::standard::ServiceImport;
use fleet_plan::conditions::find;
use member_agent::membership;
use member_agent::multicluster::import::{self, Held};

use super::text::ACCEPT;
use super::{endpoints, names};
use crate::explain::words::{behind, look, named};
use crate::left_out::{in_force, is_left_out};
use crate::picture::{Member, Picture};
use crate::reading;
use crate::shell::quoted;
use crate::story::{Cause, Crossing, Hop};

/// Everything between the hub and the importer's clients.
pub(super) fn hops(
    picture: &Picture,
    name: &str,
    member: &Member,
    service: &ObjectName,
    healthy: bool,
) -> (Vec<Hop>, Option<Crossing>) {
    let import = Import { picture, name, member, service, healthy };
    if let Some(reason) = &member.blind {
        return (vec![Hop::unseen(name, import.object(), reason)], None);
    }
    let unread = reading::of_standard_member(name, member);
    if !unread.is_empty() {
        return (unread, None);
    }
    match member.snapshot.standard_imports.get(service) {
        Some(found) => import.existing(found),
        None => (import.missing().into_iter().collect(), None),
    }
}

/// One import in one member.
struct Import<'a> {
    picture: &'a Picture,
    name: &'a str,
    member: &'a Member,
    service: &'a ObjectName,
    healthy: bool,
}

impl Import<'_> {
    /// Why there is no ServiceImport.
    fn missing(&self) -> Option<Hop> {
        let Self { picture, member, service, .. } = self;
        in_force(picture, service)?;
        let (namespace, denied) = (&service.namespace, &member.settings.denied_namespaces);
        if *service.namespace == *member.settings.identity.system_namespace {
            // Reported for the exporter.
            return None;
        }
        if !namespace_accepts_objects(&member.snapshot.namespaces, namespace) {
            return Some(self.stop(
                Cause::NamespaceTerminating,
                format!("namespace {namespace} is being deleted"),
                "wait until the namespace is deleted, and create it again",
            ));
        }
        if denied.include(namespace) || is_left_out(picture, member, service) {
            let reason = "the agent runs and does not import it: see --multicluster-import-namespaces and --denied-namespaces, \
                          and the log of the agent for a write that the API server rejects";
            return Some(Hop::unseen(self.name, self.object(), reason));
        }
        if !self.healthy {
            // Reported for the member.
            return None;
        }
        let plan = import::plan(&member.settings, service, &member.snapshot, picture.now);
        behind(picture, self.name, &plan).or_else(|| self.unaccepted())
    }

    /// Why the hub's word does not count in this member.
    fn unaccepted(&self) -> Option<Hop> {
        let (identity, snapshot) = (&self.member.settings.identity, &self.member.snapshot);
        let (name, property) = (self.name, ObjectName::cluster(CLUSTER_ID));
        let property = snapshot.cluster_properties.get(&property).map(|it| it.value.as_ref());
        if let Some(id) = property.filter(|id| *id != identity.cluster) {
            return Some(self.stop(
                Cause::OtherClusterId,
                format!("the ClusterProperty {CLUSTER_ID} gives this cluster the id {id}, and not {name}"),
                "give the cluster one name: correct the ClusterProperty, or join under that name",
            ));
        }
        let (accepted, _) = membership::standing(identity, snapshot);
        (!accepted).then(|| {
            let reason = format!("the hub has not accepted {name} for multicluster.x-k8s.io");
            self.stop(Cause::NotAccepted, reason, ACCEPT)
        })
    }

    fn existing(&self, found: &Object<ServiceImport>) -> (Vec<Hop>, Option<Crossing>) {
        if found.hub().is_none() {
            let foreign = self.stop(
                Cause::ImportForeign,
                "another implementation wrote it, so the agent leaves the Service as it is".to_owned(),
                "delete that ServiceImport if no other implementation is to serve the Service; the agent creates its own",
            );
            return (vec![foreign], None);
        }
        if found.meta.is_terminating() {
            let ending = self.stop(
                Cause::ImportTerminating,
                "it is being deleted".to_owned(),
                "wait: the agent creates it again while the Service is exported",
            );
            return (vec![ending], None);
        }
        let mut hops: Vec<_> = self.late().into_iter().collect();
        hops.extend(self.kept());
        hops.push(self.state(found));
        hops.extend(self.derived(found).filter(|hop| !hop.stops() || !hops.iter().any(Hop::stops)));
        let Self { picture, name, member, service, .. } = *self;
        let crossing = endpoints::hops(picture, name, member, service, &mut hops);
        if !hops.iter().any(Hop::stops) {
            hops.push(names::hop(picture, name, member, found));
        }
        (hops, crossing)
    }

    fn late(&self) -> Option<Hop> {
        let Self { picture, name, member, service, healthy } = self;
        let plan = import::plan(&member.settings, service, &member.snapshot, picture.now);
        behind(picture, name, &plan).filter(|_| *healthy)
    }

    /// What the agent keeps although the hub lacks it.
    fn kept(&self) -> Option<Hop> {
        let Self { picture, member, service, .. } = self;
        let held = import::held(&member.settings, service, &member.snapshot, picture.now)?;
        let why = match held {
            Held::Unsettled => "the agent waits until it has watched the hub for a while",
            Held::Hub => {
                "the hub is another one than before, and not all exporters have reported to it"
            }
            Held::Brake => "the hub has lost many Services at once",
        };
        Some(self.stop(
            Cause::ImportKept,
            format!("the hub has lost the Service, and the import stays as it is: {why}"),
            &format!(
                "make sure that the agents of all exporters run; if the loss is real: {} -n {} delete {} {}",
                picture.kubectl(self.name),
                quoted(&service.namespace),
                kinds::MCS_SERVICE_IMPORT.resource(),
                quoted(&service.name)
            ),
        ))
    }

    /// The ServiceImport as its status reports it.
    fn state(&self, found: &Object<ServiceImport>) -> Hop {
        let clusters = found.status.clusters.iter().map(|it| it.cluster.as_str());
        let clusters = named(&clusters.collect::<Vec<_>>());
        match find(&found.status.conditions, READY) {
            Some(ready) if ready.reason == IP_FAMILY_NOT_SUPPORTED => self.stop(
                Cause::FamilyNotSupported,
                ready.message.clone(),
                "export the Service with a family that all clusters have (spec.ipFamilies), or give this cluster that family",
            ),
            Some(ready) if ready.status == TRUE => {
                Hop::ok(self.name, self.object(), format!("ready, with the endpoints of {clusters}"))
            }
            ready => {
                let message = ready.map_or("it has no status yet", |ready| &ready.message);
                Hop::ok(self.name, self.object(), format!("not ready: {message}"))
            }
        }
    }

    /// The derived Service; a headless import has none.
    fn derived(&self, found: &Object<ServiceImport>) -> Option<Hop> {
        let spec = found.spec.as_ref()?;
        if spec.type_ == ServiceType::Headless {
            return None;
        }
        let beside = |name: &str| ObjectName::new(self.service.namespace.clone(), name);
        let candidates = derived_import_candidates(self.service);
        let marked = found.meta.annotation(MULTICLUSTER_DERIVED_SERVICE);
        let name = beside(marked.unwrap_or(&candidates[0]));
        let services = &self.member.snapshot.services;
        let is_taken = |name: &String| {
            services
                .get(&beside(name))
                .is_some_and(|it| it.imports().as_ref() != Some(self.service))
        };
        match services.get(&name) {
            _ if candidates.iter().all(is_taken) => Some(self.stop(
                Cause::NoFreeName,
                format!(
                    "every name for its derived Service in {} is taken",
                    self.service.namespace
                ),
                "rename or delete one of these Services: their names begin with derived-",
            )),
            Some(service) if !service.meta.is_terminating() => Some(self.address(&name, service)),
            ending => Some(Hop::stop(
                self.name,
                format!("Service {name}"),
                Cause::DerivedServiceMissing,
                match ending {
                    None => "the derived Service is missing",
                    Some(_) => "the derived Service is being deleted",
                },
                look(self.picture, self.name),
            )),
        }
    }

    fn address(&self, name: &ObjectName, service: &Object<Service>) -> Hop {
        let object = format!("Service {name}");
        match service.cluster_ip.as_deref().filter(|ip| !ip.is_empty()) {
            Some(ip) => Hop::ok(self.name, object, format!("has the address {ip}")),
            None => Hop::stop(
                self.name,
                object,
                Cause::NoAddress,
                "the derived Service has no cluster IP yet",
                "check the Events of the Service, and whether the cluster has free addresses",
            ),
        }
    }

    fn object(&self) -> String {
        format!("{} {}", kinds::MCS_SERVICE_IMPORT.label(), self.service)
    }

    fn stop(&self, cause: Cause, reason: String, advice: &str) -> Hop {
        Hop::stop(self.name, self.object(), cause, reason, advice)
    }
}
