//! What users have asked for: what has to be so once everything is at rest.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fleet_api::{ObjectName, ResourceKind};
use serde_json::Value;

use crate::act::{PortSet, SERVICES};
use crate::base;
use crate::questions::imports::{Api, Endpoint};

/// Names and numbers of ports.
pub(crate) type Ports = BTreeSet<(String, i64)>;

/// What an administrator takes from a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Drain {
    /// `None` is every Service.
    pub(crate) service: Option<usize>,
    pub(crate) percent: i64,
    /// When it has had its full effect.
    pub(crate) done: Duration,
}

impl Drain {
    fn concerns(&self, service: usize) -> bool {
        self.service.is_none_or(|it| it == service)
    }
}

/// Of the hub, what importers look at.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfHub {
    drained: BTreeMap<usize, Drain>,
    preferred: BTreeSet<(usize, Option<usize>)>,
}

/// What users have asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Truth {
    pub(crate) members: usize,
    /// Addresses of each Service, by Service and member.
    pub(crate) deployed: BTreeMap<(usize, usize), Vec<String>>,
    /// Of the same, the ports, and the address of the endpoint that is not ready, if there is one.
    pub(crate) ports: BTreeMap<(usize, usize), PortSet>,
    pub(crate) unready: BTreeMap<(usize, usize), String>,
    /// Services and members that export them.
    pub(crate) exports: BTreeSet<(usize, usize)>,
    /// Services and members that import them by the fleet's own API.
    pub(crate) imports: BTreeSet<(usize, usize)>,
    /// Members with the namespace of the standard API.
    pub(crate) team: BTreeSet<usize>,
    /// Members with a drain.
    pub(crate) drained: BTreeMap<usize, Drain>,
    /// Services with a preference.
    pub(crate) preferred: BTreeSet<(usize, Option<usize>)>,
    /// Members and Services whose drain or preference was lost with the hub: importers keep these.
    lost_drains: Vec<(usize, Drain)>,
    lost_preferences: BTreeSet<usize>,
    /// The same of those that have ended since the last rest: importers may not have read that.
    ended_drains: Vec<(usize, Drain)>,
    ended_preferences: BTreeSet<usize>,
    /// What users have written of the kinds of traffic, by server.
    pub(crate) traffic: BTreeMap<(usize, ResourceKind, ObjectName), Value>,
    /// Counts endpoints that were ever made.
    pub(crate) made: u32,
}

impl Truth {
    pub(crate) fn new(members: usize) -> Self {
        let team = (0..members).filter(|at| base::has_team(*at)).collect();
        Self { members, team, ..Self::default() }
    }

    /// What a backup of the hub has.
    pub(crate) fn of_hub(&self) -> OfHub {
        let preferred = self.preferred.iter().filter(|(_, member)| member.is_none());
        OfHub { drained: self.drained.clone(), preferred: preferred.copied().collect() }
    }

    /// A drain of a member ends, or another one takes its place. Returns whether there was one.
    pub(crate) fn end_drain(&mut self, member: usize) -> bool {
        let ended = self.drained.remove(&member).map(|drain| (member, drain));
        self.ended_drains.extend(ended);
        ended.is_some()
    }

    /// A preference ends.
    pub(crate) fn end_preference(&mut self, service: usize, member: Option<usize>) {
        if self.preferred.remove(&(service, member)) && member.is_none() {
            self.ended_preferences.insert(service);
        }
    }

    /// All importers have read what there is.
    pub(crate) fn is_at_rest(&mut self) {
        self.ended_drains.clear();
        self.ended_preferences.clear();
    }

    /// The hub has another store.
    pub(crate) fn replace_hub(&mut self, restored: OfHub) {
        let lost = std::mem::replace(&mut self.drained, restored.drained);
        self.lost_drains.extend(lost);
        self.lost_drains.append(&mut self.ended_drains);
        self.lost_preferences.append(&mut self.ended_preferences);
        let lost = self.preferred.iter().filter(|(_, member)| member.is_none());
        self.lost_preferences.extend(lost.map(|(service, _)| *service));
        self.preferred.retain(|(_, member)| member.is_some());
        self.preferred.extend(restored.preferred);
    }

    /// Whether nothing is drained or preferred, nor was when the hub was lost.
    pub(crate) fn is_plain(&self) -> bool {
        self.drained.is_empty()
            && self.lost_drains.is_empty()
            && self.preferred.is_empty()
            && self.lost_preferences.is_empty()
    }

    /// Whether an importer prefers some of the endpoints of a Service.
    pub(crate) fn is_preferred(&self, service: usize, importer: usize) -> bool {
        self.preferred.contains(&(service, None))
            || self.preferred.contains(&(service, Some(importer)))
            || self.lost_preferences.contains(&service)
    }

    /// Whether an exporter is drained of a Service, in part at least, or was when the hub was lost.
    pub(crate) fn is_drained(&self, service: usize, exporter: usize) -> bool {
        let drains = self.drained.iter().map(|(member, drain)| (*member, *drain));
        let mut drains = drains.chain(self.lost_drains.iter().copied());
        drains.any(|(member, drain)| member == exporter && drain.concerns(service))
    }

    /// Whether other members have nothing of an exporter to use, where they have anything else.
    pub(crate) fn is_empty_of(&self, service: usize, exporter: usize, now: Duration) -> bool {
        let drain = self.drained.get(&exporter);
        let is_whole = |drain: &Drain| drain.percent == 100 && drain.done <= now;
        drain.is_some_and(|drain| drain.concerns(service) && is_whole(drain))
    }

    /// An address that no endpoint ever had.
    pub(crate) fn address(&mut self, member: usize) -> String {
        self.made += 1;
        format!("10.{}.{}.{}", member + 1, self.made / 250, self.made % 250 + 1)
    }

    /// What the exporters of a Service offer, all of them or those with the ports in force.
    pub(crate) fn offered(&self, service: usize, ports: Option<PortSet>) -> BTreeSet<Endpoint> {
        let exports = self.exports.iter().filter(|(of, _)| *of == service);
        let counts = |at: &&(usize, usize)| ports.is_none_or(|ports| self.ports[*at] == ports);
        let all = exports.filter(counts).flat_map(|at| {
            let cluster = base::member_name(at.1);
            self.deployed[at].iter().map(move |address| (cluster.clone(), address.clone()))
        });
        all.collect()
    }

    /// The ports that a Service is exported with.
    pub(crate) fn exported(&self, service: usize) -> BTreeSet<PortSet> {
        let exports = self.exports.iter().filter(|(of, _)| *of == service);
        exports.map(|at| self.ports[at]).collect()
    }

    /// Whether exporters of a Service contradict each other, so that only some of them count. By the standard API all do.
    pub(crate) fn is_contested(&self, service: usize) -> bool {
        SERVICES[service].0 == Api::Fleet && self.exported(service).len() > 1
    }

    /// The ports that a Service may have in the fleet, where these are in force: by the standard API those of all exporters, but one of
    /// each name.
    pub(crate) fn fleet_ports(&self, service: usize, in_force: Option<PortSet>) -> BTreeSet<Ports> {
        let exported = self.exported(service).into_iter();
        let sets: Vec<_> =
            exported.filter(|set| in_force.is_none_or(|in_force| *set == in_force)).collect();
        let named = |(name, number): (&str, i64)| (name.to_owned(), number);
        let first_of = |first: &PortSet| {
            let mut ports: BTreeMap<String, i64> = BTreeMap::new();
            let others = sets.iter().filter(|other| *other != first);
            for (name, number) in [first].into_iter().chain(others).flat_map(|set| set.ports()) {
                ports.entry(name.to_owned()).or_insert(number);
            }
            ports.iter().map(|(name, number)| named((name, *number))).collect()
        };
        sets.iter().map(first_of).collect()
    }

    /// Members that import a Service.
    pub(crate) fn importers(&self, service: usize, api: Api) -> BTreeSet<usize> {
        match api {
            Api::Fleet => {
                let imports = self.imports.iter().filter(|(of, _)| *of == service);
                imports.map(|(_, member)| *member).collect()
            }
            Api::Standard if self.offered(service, None).is_empty() => BTreeSet::new(),
            Api::Standard => self.team.clone(),
        }
    }
}
