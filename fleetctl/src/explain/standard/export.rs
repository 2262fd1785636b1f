//! The path from an exporter's Service to the hub.

use fleet_accumulator::Object;
use fleet_api::{ObjectName, kinds, labels};
use fleet_model::objects::Service;
use fleet_plan::Plan;
use member_agent::multicluster::export::{self as standard, Decision, Hold, Intent, Withdrawal};

use super::text::{ACCEPT, SERVE};
use crate::explain::export::endpoints;
use crate::explain::words::{DENIED, behind, count, ports_text};
use crate::picture::{Member, Picture};
use crate::reading;
use crate::story::{Cause, Hop};

/// Everything between the exporter's Service and its objects on the hub.
pub(super) fn hops(
    picture: &Picture,
    name: &str,
    member: &Member,
    service: &ObjectName,
    healthy: bool,
) -> Vec<Hop> {
    if let Some(reason) = &member.blind {
        let object = format!("{} {service}", kinds::MCS_SERVICE_EXPORT.label());
        return vec![Hop::unseen(name, object, reason), on_hub(name, member, service)];
    }
    let unread = reading::of_standard_member(name, member);
    if !unread.is_empty() {
        return unread;
    }
    let mut hops = Export { picture, name, member, service }.own();
    let is_over = hops.iter().any(|hop| hop.stops() && hop.cause != Some(Cause::NoEndpoints));
    if healthy && !is_over && member.settings.multicluster.is_watched() {
        let next = late(picture, name, member, service);
        hops.push(next.unwrap_or_else(|| on_hub(name, member, service)));
    }
    hops
}

/// One export of one member.
struct Export<'a> {
    picture: &'a Picture,
    name: &'a str,
    member: &'a Member,
    service: &'a ObjectName,
}

impl Export<'_> {
    fn own(&self) -> Vec<Hop> {
        let (settings, snapshot) = (&self.member.settings, &self.member.snapshot);
        let decision = standard::decision(settings, self.service, snapshot);
        if decision.is_some() && !settings.multicluster.is_watched() {
            let reason = format!("the agent of {} does not serve multicluster.x-k8s.io", self.name);
            return self.stop(Cause::StandardOff, &reason, SERVE);
        }
        match decision {
            // What the hub still has of it is reported as a missing write.
            None => Vec::new(),
            Some(Decision::Ending(export)) => {
                let held: Vec<_> = export.meta.finalizers.iter().map(AsRef::as_ref).collect();
                let reason =
                    format!("it is being deleted, and waits for the finalizers {}", held.join(", "));
                let advice = "wait until it is deleted, then create it again if you still need it";
                self.stop(Cause::ExportTerminating, &reason, advice)
            }
            Some(Decision::Foreign) => self.stop(
                Cause::ImportForeign,
                "another implementation wrote the ServiceImport of this name, so the agent leaves the Service as it is",
                "delete that ServiceImport if no other implementation is to serve the Service; the agent creates its own",
            ),
            Some(Decision::Ours(Intent::Export(found), _) | Decision::Ours(Intent::Hold(found, _), true)) => self.exported(found),
            Some(Decision::Ours(Intent::Hold(_, hold), false)) => self.held(hold),
            Some(Decision::Ours(Intent::Withdraw(withdrawal), _)) => self.withdrawn(withdrawal),
        }
    }

    fn exported(&self, found: &Object<Service>) -> Vec<Hop> {
        let Self { picture, name, member, service } = self;
        let what = if found.is_headless() { "is headless and " } else { "" };
        let reason = format!("its Service {what}has {}", ports_text(&found.ports));
        vec![Hop::ok(name, self.object(), reason), endpoints(picture, name, member, service)]
    }

    fn held(&self, hold: Hold<'_>) -> Vec<Hop> {
        let (name, namespace) = (self.name, &self.service.namespace);
        match hold {
            Hold::Denied => self.stop(
                Cause::NamespaceDenied,
                &format!("no Service of namespace {namespace} is exported"),
                DENIED,
            ),
            Hold::OtherId(id) => self.stop(
                Cause::OtherClusterId,
                &format!(
                    "the ClusterProperty cluster.clusterset.k8s.io gives this cluster the id {id}, and not {name}"
                ),
                "give the cluster one name: correct the ClusterProperty, or join under that name",
            ),
            Hold::Unclaimed => self.stop(
                Cause::NotAccepted,
                &format!("the hub has not accepted {name} for multicluster.x-k8s.io yet"),
                ACCEPT,
            ),
            Hold::NoAddress => self.stop(
                Cause::NoAddress,
                "its Service has no cluster IP yet",
                "check the Events of the Service, and whether its cluster has free addresses",
            ),
        }
    }

    fn withdrawn(&self, withdrawal: Withdrawal<'_>) -> Vec<Hop> {
        let Self { name, service, .. } = self;
        let other = "export another Service instead, or delete the ServiceExport";
        let ineligible = |reason: &str| self.stop(Cause::ServiceIneligible, reason, other);
        match withdrawal {
            Withdrawal::CleanUp => self.stop(
                Cause::StandardOff,
                "the member agent takes back what it made for multicluster.x-k8s.io (--multicluster=clean-up)",
                SERVE,
            ),
            // Reported for the member.
            Withdrawal::NoMember => Vec::new(),
            Withdrawal::SystemNamespace => self.stop(
                Cause::SystemNamespace,
                "it is in the agents' own namespace, from which no Service can be exported",
                "move the Service to another namespace",
            ),
            Withdrawal::Refused(why) => self.stop(
                Cause::NotAccepted,
                &format!("the hub does not accept {name} for multicluster.x-k8s.io: {why}"),
                ACCEPT,
            ),
            Withdrawal::NoService => self.stop(
                Cause::ServiceNotFound,
                &format!("there is no Service {service}, or it is being deleted"),
                &format!("create Service {service} in {name}, or delete the ServiceExport"),
            ),
            Withdrawal::ExternalName => {
                ineligible("its Service is of type ExternalName, which cannot be exported")
            }
            Withdrawal::Imported => {
                ineligible("its Service was made for an import, which cannot be exported")
            }
            Withdrawal::TooManyPorts(ports) => self.stop(
                Cause::LimitExceeded,
                &format!("its Service has {ports} ports, more than an import can have"),
                "export a Service with fewer ports",
            ),
        }
    }

    fn object(&self) -> String {
        format!("{} {}", kinds::MCS_SERVICE_EXPORT.label(), self.service)
    }

    fn stop(&self, cause: Cause, reason: &str, advice: &str) -> Vec<Hop> {
        vec![Hop::stop(self.name, self.object(), cause, reason, advice)]
    }
}

/// A write that the agent of the exporter has not made: of the export, or of its slices.
fn late(picture: &Picture, name: &str, member: &Member, service: &ObjectName) -> Option<Hop> {
    let (settings, snapshot, now) = (&member.settings, &member.snapshot, picture.now);
    let export: Plan<_> = standard::plan(settings, service, snapshot, now);
    let slices = || member_agent::export::plan(settings, service, snapshot, now);
    behind(picture, name, &export).or_else(|| behind(picture, name, &slices()))
}

/// The export on the hub.
fn on_hub(name: &str, member: &Member, service: &ObjectName) -> Hop {
    let snapshot = &member.snapshot;
    let exports = snapshot.exported_services.by(service);
    let live = exports.filter(|export| !export.meta.is_terminating()).count();
    let slices = snapshot.slice_exports.by(service);
    let slices = slices.filter(|it| it.meta.label(labels::MULTICLUSTER_NAMESPACE).is_some());
    let endpoints: usize = slices.map(|slice| slice.spec.endpoints.len()).sum();
    let reason = match live {
        0 => "the hub has no export of it".to_owned(),
        _ => format!("the hub has {}", count(endpoints, "endpoint")),
    };
    Hop::ok(name, kinds::EXPORTED_SERVICE.label(), reason)
}
