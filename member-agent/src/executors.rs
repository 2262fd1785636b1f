//! What this cluster knows of the members that run Pods for it.
//!
//! The controller of virtual nodes and the task that renews their Leases both read it here.

use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::ObjectName;
use fleet_api::offload::{AcceptedExecutor, CONSENT, LinkState, PeerLink, VirtualNodePhase};
use fleet_model::cidr::{Cidr, Cidrs};
use fleet_model::objects::offload::{NodeDocument, OffloadConsent, VirtualNode};
use fleet_virtual_node::life::NodeState;
use fleet_virtual_node::names;
use fleet_virtual_node::node::NodeHealth;
use fleet_virtual_node::pod::{DnsOption, origin_terms};
use fleet_virtual_node::status::Link;

use crate::links::{Links, SILENCE};
use crate::snapshot::MemberSnapshot;
use crate::{Identity, Settings};

/// One executor, as this cluster sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Executor<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// What the hub has of it for this member.
    pub(crate) offered: Option<&'a Object<VirtualNode>>,
    /// The Node that stands for it.
    pub(crate) node: Option<&'a Object<NodeDocument>>,
    /// What the administrators of this cluster have decided about it.
    pub(crate) consent: Consent<'a>,
}

/// What the administrators of a cluster have decided about an executor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Consent<'a> {
    /// It is accepted, like this.
    Accepted(&'a AcceptedExecutor),
    /// It is not.
    None,
    /// What is written about it cannot be read: nothing new is accepted, and nothing is taken back.
    Unreadable(&'a str),
}

/// What the administrators of this cluster have decided.
pub(crate) fn consent<'a>(
    identity: &Identity,
    snapshot: &'a MemberSnapshot,
) -> Option<&'a Object<OffloadConsent>> {
    let name = ObjectName::new(identity.system_namespace.as_str(), CONSENT);
    snapshot.offload_consent.get(&name)
}

impl<'a> Executor<'a> {
    /// The executor of that name.
    pub(crate) fn of(identity: &Identity, name: &'a str, snapshot: &'a MemberSnapshot) -> Self {
        let offered = ObjectName::new(identity.hub_namespace.as_str(), name);
        let entry =
            consent(identity, snapshot).and_then(|consent| consent.object.accepted.get(name));
        Self {
            name,
            offered: snapshot.virtual_nodes.get(&offered),
            node: snapshot.virtual_node_objects.get(&ObjectName::cluster(names::node(name))),
            consent: match entry {
                Some(Ok(accepted)) => Consent::Accepted(accepted),
                Some(Err(why)) => Consent::Unreadable(why),
                None => Consent::None,
            },
        }
    }

    /// How far the virtual node is. What its own administrators decide takes effect before the hub agent has answered.
    ///
    /// One that the hub lacks is not withdrawn, which would end its Pods: the hub agent shows that it is before it goes, and a hub that
    /// was restored or built anew shows nothing yet.
    pub(crate) fn phase(&self) -> VirtualNodePhase {
        let offered = self.offered.map_or(VirtualNodePhase::Offered, |node| node.spec.phase);
        match (offered, self.consent) {
            (VirtualNodePhase::Accepted, Consent::None) => VirtualNodePhase::Offered,
            (VirtualNodePhase::Accepted, Consent::Unreadable(_)) => VirtualNodePhase::Draining,
            (VirtualNodePhase::Accepted, Consent::Accepted(accepted)) if accepted.draining => {
                VirtualNodePhase::Draining
            }
            (phase, _) => phase,
        }
    }

    /// On which hop the way to it is interrupted.
    pub(crate) fn link(&self, links: &Links) -> Link {
        match self.known_link().map(PeerLink::standing) {
            _ if links.hub_silence() >= SILENCE => Link::HubUnreachable,
            Some(LinkState::Connected) => Link::Alive,
            Some(LinkState::Silent) | None => Link::ExecutorUnreachable,
        }
    }

    fn known_link(&self) -> Option<&'a PeerLink> {
        self.offered.and_then(|node| node.object.status.executor.as_ref())
    }

    /// For how long there has been no sign of it, where it counts for that: one that renews its Lease again, and of which the verdict is
    /// another one still, has not ended its Pods by itself.
    fn silence(&self, link: Link, links: &Links) -> Option<Duration> {
        let renews = self.known_link().is_some_and(|link| link.state == LinkState::Connected);
        match link {
            Link::Alive => None,
            Link::HubUnreachable => Some(links.hub_silence()),
            Link::ExecutorUnreachable => (!renews).then(|| links.silence(self.name)),
        }
    }

    /// What the conditions of its Node depend on.
    pub(crate) fn health(&self, links: &Links) -> NodeHealth {
        NodeHealth { phase: self.phase(), link: self.link(links) }
    }

    /// What decisions about its Pods depend on.
    pub(crate) fn state(&self, settings: &Settings, links: &Links) -> NodeState {
        let link = self.link(links);
        let spec = self.offered.map(|node| &node.spec);
        let accepted = match self.consent {
            Consent::Accepted(accepted) => Some(accepted),
            Consent::None | Consent::Unreadable(_) => None,
        };
        let secrets = accepted.map_or(&[][..], |accepted| &accepted.secrets);
        let dns = accepted.and_then(|accepted| accepted.dns.as_ref());
        NodeState {
            cluster: settings.identity.cluster.clone(),
            executor: self.name.to_owned(),
            phase: self.phase(),
            terms: spec.map(|spec| origin_terms(&spec.terms, secrets)).unwrap_or_default(),
            ranges: spec.map(|spec| ranges(&spec.pod_cidrs)).unwrap_or_default(),
            link,
            silent: self.silence(link, links),
            dns: dns
                .map(|dns| DnsOption { servers: dns.servers.clone(), domain: dns.domain.clone() }),
            address: settings.virtual_nodes.address,
            abandoned: accepted.is_some_and(|accepted| accepted.abandoned),
        }
    }
}

/// Ranges of an executor. What cannot be read is none: then no address in it is taken.
fn ranges(cidrs: &[String]) -> Cidrs {
    cidrs.iter().filter_map(|cidr| cidr.parse::<Cidr>().ok()).collect()
}

#[cfg(test)]
mod tests {
    use fleet_accumulator::Tracked as _;
    use fleet_api::offload::VirtualNodeSpec;
    use fleet_runtime::clock::BootClock;
    use serde_json::json;

    use super::*;

    fn offered(state: &str, verdict: Option<&str>) -> Object<VirtualNode> {
        let node = json!({
            "metadata": { "namespace": "fleet-member-east", "name": "west" },
            "spec": VirtualNodeSpec::default(),
            "status": { "executor": {
                "cluster": "west", "state": state, "verdict": verdict, "since": "2026-01-01T00:00:00Z",
            } },
        });
        let node = VirtualNode::project(serde_json::from_value(node).unwrap()).unwrap();
        Object::new(ObjectName::new("fleet-member-east", "west"), "u".into(), "1".into(), node)
    }

    /// Readiness follows the verdict; that Pods have ended by themselves is concluded from the Lease alone.
    #[test]
    fn the_verdict_counts_for_readiness_and_the_lease_for_what_has_ended() {
        let clock = BootClock::by_hand();
        let links = Links::new(clock.clone());
        links.answered(clock.now());
        for (state, verdict, link, has_silence) in [
            ("Connected", None, Link::Alive, false),
            ("Silent", None, Link::ExecutorUnreachable, true),
            ("Silent", Some("Silent"), Link::ExecutorUnreachable, true),
            ("Silent", Some("Connected"), Link::Alive, false),
            ("Connected", Some("Silent"), Link::ExecutorUnreachable, false),
        ] {
            let node = offered(state, verdict);
            let executor =
                Executor { name: "west", offered: Some(&node), node: None, consent: Consent::None };
            let found = executor.link(&links);
            assert_eq!(found, link, "{state} {verdict:?}");
            let silence = executor.silence(found, &links);
            assert_eq!(silence.is_some(), has_silence, "{state} {verdict:?}");
        }
    }
}
