//! The fleet as exporters, Services and importers, with what stops each: the model of `graph`. Pure.
//!
//! Members, Services and who takes part come from [`status`](mod@crate::status), reasons from [`explain()`]: this module only puts
//! them side by side. The cost grows with the Services and their exporters and importers.

mod edge;
mod finding;
mod member;
mod ports;
mod reach;
mod roles;
mod share;
mod traffic;

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_accumulator::SourceState;
use fleet_api::ObjectName;
use jiff::Timestamp;
use serde::Serialize;

pub use edge::{Edge, Endpoints};
pub use finding::Finding;
pub use member::{Drained, MemberView};
pub use reach::{ReachCounts, Unreached};

use crate::credential::CredentialStatus;
use crate::explain::explain;
use crate::picture::Picture;
use crate::reach::reached::{Cell, Reached, current};
use crate::status::{MemberStatus, Status};
use crate::story::{Cause, Hop};
use finding::Findings;
use ports::{Ports, ports};
use roles::{Roles, roles};
pub use share::Share;
pub(crate) use share::shares;

/// A fleet, in a stable order: members and Services by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    /// When it was so.
    pub at: Timestamp,
    /// Every member that the hub or the command line knows.
    pub members: Vec<MemberView>,
    /// Every Service that a member exports or imports, by either API.
    pub services: Vec<Arc<ServiceView>>,
    /// What each importer reaches of each exporter, where agents dial.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reach: Vec<Cell>,
    /// What could not be read.
    pub unread: Vec<Hop>,
}

/// One Service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceView {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Its ports in the fleet, as `80/TCP http`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<String>,
    /// Whether it has no address of its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub headless: bool,
    /// Members that export it, whether or not their export is in force.
    pub exporters: Vec<Edge>,
    /// Members that import it, whether or not they were granted it.
    pub importers: Vec<Edge>,
    /// What stops it on the hub, in the whole fleet, or in a member without a part in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finding: Option<Finding>,
    /// One sentence: where it stops, or that it works.
    pub verdict: String,
}

impl View {
    /// Whether nothing stops for a reason that passes by itself.
    pub(crate) fn is_calm(&self) -> bool {
        let mut findings = self.services.iter().flat_map(|service| service.findings());
        !findings.any(|finding| finding.cause.is_passing())
    }

    /// Adds what is known of the members' credentials for the hub.
    #[must_use]
    pub fn with_credentials(mut self, credentials: &BTreeMap<String, CredentialStatus>) -> Self {
        for member in &mut self.members {
            let credential = credentials.get(&member.name);
            member.credential = credential.map(|credential| credential.state);
            member.token_expires = credential.and_then(|credential| credential.expires.clone());
        }
        self
    }

    /// Adds what is known of the releases of the members' agents.
    #[must_use]
    pub fn with_agent_versions(mut self, mut versions: BTreeMap<String, String>) -> Self {
        for member in &mut self.members {
            member.agent_version = versions.remove(&member.name);
        }
        self
    }
}

impl ServiceView {
    /// Everything that stops it, in the order of the path.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        let exporters = self.exporters.iter().filter_map(|edge| edge.finding.as_ref());
        let importers = self.importers.iter().filter_map(|edge| edge.finding.as_ref());
        exporters.chain(&self.finding).chain(importers)
    }
}

/// The model of a fleet. `status` is that of the same picture. With `namespaces`, only Services of these are in it.
pub fn view(picture: &Picture, status: Status, namespaces: &[String]) -> View {
    let is_wanted = |service: &ObjectName| {
        namespaces.is_empty() || namespaces.iter().any(|it| **it == *service.namespace)
    };
    let services = roles(picture, &status).into_iter().filter(|(service, _)| is_wanted(service));
    let services = services.map(|(service, roles)| Arc::new(of_service(picture, &service, &roles)));
    let services = services.collect();
    let reach = Reached::of(current(&picture.reach, picture.heard), picture.heard).cells;
    let counts = ReachCounts::by_importer(&reach);
    let Status { members, unread, .. } = status;
    let unread = unread.into_iter().chain(lost(picture)).collect();
    let member = |status: MemberStatus| {
        let drained = traffic::drained(picture, &status.name);
        let unseen = status.unseen.clone().or_else(|| stale(picture, &status.name));
        let reach = counts.get(status.name.as_str()).copied();
        MemberView { unseen, drained, reach, ..MemberView::from(status) }
    };
    let members = members.into_iter().map(member).collect();
    View { at: picture.now, members, services, reach, unread }
}

/// That the hub is not read any more; what it showed then stays, and shows nothing of how members go on.
fn lost(picture: &Picture) -> Option<Hop> {
    let SourceState::Stale { message, .. } = picture.hub.namespaces.state() else { return None };
    let says = format!("it does not answer any more, and what is shown is from before: {message}");
    let advice = "look at the hub and at the way to it before you act on what is shown";
    Some(Hop::stop("hub", "Namespace", Cause::NotRead, says, advice))
}

/// Why a cluster is not read any more that was read before; what it showed then stays.
fn stale(picture: &Picture, member: &str) -> Option<String> {
    let snapshot = &picture.members.get(member)?.snapshot;
    let SourceState::Stale { message, .. } = snapshot.endpoint_slices.state() else { return None };
    Some(format!("it does not answer any more: {message}"))
}

fn of_service(picture: &Picture, service: &ObjectName, roles: &Roles) -> ServiceView {
    let story = explain(picture, service);
    let found = Findings::of(&story, roles);
    let exporters = roles.exporters.iter().map(|member| Edge {
        member: member.clone(),
        endpoints: edge::exported(picture, member, service),
        changed: edge::exported_since(picture, member, service),
        finding: found.exporter(member),
        last_resort: traffic::last_resort(picture, member, service),
        ..Edge::default()
    });
    let unreached = reach::by_importer(picture, service);
    let importers = roles.importers.iter().map(|member| {
        let shares = picture.members.get(member).map(|it| shares(it, service)).unwrap_or_default();
        Edge {
            member: member.clone(),
            endpoints: edge::imported(picture, member, service),
            changed: edge::imported_since(picture, member, service),
            finding: found.importer(member),
            last_resort: traffic::kept_back(picture, member, service, &shares),
            preference: traffic::preference(picture, member, service),
            shares,
            unreached: unreached.get(member.as_str()).cloned().unwrap_or_default(),
            ..Edge::default()
        }
    });
    let Ports { ports, is_headless } = ports(picture, service);
    ServiceView {
        ports,
        headless: is_headless,
        namespace: service.namespace.to_string(),
        name: service.name.to_string(),
        exporters: exporters.collect(),
        importers: importers.collect(),
        finding: found.fleet(),
        verdict: story.verdict,
    }
}
