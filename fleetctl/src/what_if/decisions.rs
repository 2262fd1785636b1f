//! What the hub agent decides about drains and silent members, as its own decider does, by a clock that is moved by hand.

use std::collections::BTreeSet;
use std::time::Duration;

use fleet_accumulator::{Object, Tracked, View};
use fleet_api::ObjectName;
use fleet_api::names::member_of_namespace;
use fleet_api::traffic::{FLEET_TRAFFIC, SilenceState};
use fleet_model::objects::MemberLease;
use fleet_model::objects::traffic::FleetTraffic;
use hub_agent::snapshot::HubSnapshot;
use hub_agent::traffic_decider::{Decider, Decisions};
use jiff::Timestamp;

/// The decider, and what it has decided last.
#[derive(Default)]
pub(super) struct Deciding {
    decider: Decider,
    last: Option<Decisions>,
    /// Members that do not renew their Leases.
    silent: BTreeSet<String>,
}

impl Deciding {
    /// Members that are silent by verdict stay so: nothing shows that they renew.
    pub(super) fn new(hub: &HubSnapshot) -> Self {
        let is_silent = |state: SilenceState| state == SilenceState::Silent;
        let members = hub.member_traffics.iter();
        let silent = members.filter(|member| {
            member.status.silence.as_ref().is_some_and(|silence| is_silent(silence.state))
        });
        let silent = silent.map(|member| member.name.name.to_string()).collect();
        Self { silent, ..Self::default() }
    }

    /// The member does not renew its Lease any more.
    pub(super) fn lose(&mut self, member: &str) {
        self.silent.insert(member.to_owned());
    }

    /// Decides at a time. Where the hub agent decides nothing, nothing happens. Returns whether it decides otherwise than before.
    pub(super) fn look(&mut self, hub: &HubSnapshot, now: Timestamp, at: Duration) -> bool {
        if FleetTraffic::of(&hub.fleet_traffics).is_none() {
            return self.last.take().is_some();
        }
        let renewed = hub.member_leases.iter().map(|lease| self.renewed(lease, now));
        let leases = View::of(renewed.collect::<Vec<_>>());
        let hub = HubSnapshot { member_leases: leases, ..hub.clone() };
        let before = self.last.take();
        self.last = self.decider.look(&hub, true, at);
        self.last != before
    }

    fn renewed(&self, lease: &Object<MemberLease>, now: Timestamp) -> Object<MemberLease> {
        let is_silent = member_of_namespace(&lease.name.namespace)
            .is_some_and(|member| self.silent.contains(member));
        if is_silent {
            return lease.clone();
        }
        let renewed = MemberLease { renewed: Some(now), ..MemberLease::clone(&lease.object) };
        Object::new(lease.name.clone(), lease.uid.clone(), lease.version.clone(), renewed)
    }

    /// The snapshot with what was decided.
    pub(super) fn with(&self, hub: HubSnapshot) -> HubSnapshot {
        let Some(decisions) = &self.last else { return hub };
        let members = decisions.members.iter();
        let members = members.map(|(name, one)| provided(name, one.clone()));
        let fleet = provided(FLEET_TRAFFIC, decisions.fleet.clone());
        HubSnapshot {
            member_decisions: View::of(members.collect::<Vec<_>>()),
            fleet_decisions: View::of([fleet]),
            ..hub
        }
    }
}

fn provided<T: Tracked>(name: &str, what: T) -> Object<T> {
    Object::new(ObjectName::cluster(name), name.into(), "1".into(), what)
}
