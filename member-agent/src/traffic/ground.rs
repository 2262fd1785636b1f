//! What is in force for the Services that this cluster imports: policies, drains and verdicts, and the zones of its nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fleet_accumulator::{Object, SourceSet};
use fleet_api::ObjectName;
use fleet_api::multicluster::standard::CLUSTER_ID;
use fleet_api::traffic::{FleetTrafficSpec, PolicySource};
use fleet_model::objects::traffic::{FleetTraffic, MemberTraffic};
use fleet_traffic::{DataPlane, Encoding, MAX_ZONES, Properties, named_zones};

use super::exporter::Exporter;
use super::limit::Limit;
use super::members::{Followed, MemberMemory};
use super::pace::Turn;
use super::pool::States;
use super::recalled::Recalled;
use super::rules::Rules;
use super::standing::standing;
use crate::Settings;
use crate::executing::Executing;
use crate::other_hub::OtherHub;
use crate::snapshot::MemberSnapshot;

/// What is in force in this cluster, as a plan for one Service sees it.
#[derive(Debug)]
pub(crate) struct Ground<'a> {
    settings: &'a Settings,
    snapshot: &'a MemberSnapshot,
    fleet: FleetTrafficSpec,
    members: MemberMemory,
    zones: BTreeSet<String>,
    executing: Executing<'a>,
    recalled: Recalled,
}

impl<'a> Ground<'a> {
    /// The ground of a plan, if traffic policies are in force at all.
    pub(crate) fn of(
        settings: &'a Settings,
        snapshot: &'a MemberSnapshot,
        recalled: Recalled,
    ) -> Option<Self> {
        if !settings.traffic.enabled {
            return None;
        }
        let fleet = FleetTraffic::of(&snapshot.fleet_traffics);
        let fleet = fleet.map(|fleet| fleet.spec.clone()).unwrap_or_default();
        let is_followed = OtherHub::recalled(settings, snapshot, &recalled).is_none();
        let followed = recalled.followed.as_deref().filter(|_| is_followed);
        let own = settings.identity.cluster.as_str();
        let followed = followed.map(|incarnation| Followed { own, incarnation });
        let members =
            recalled.members.next(&snapshot.member_traffics, &fleet, followed, recalled.now);
        let executing = Executing::of(settings, snapshot);
        let zones = zones(&executing, snapshot);
        Some(Self { settings, snapshot, fleet, members, zones, executing, recalled })
    }

    /// What the ground of every plan is made from.
    pub(crate) fn sources(settings: &Settings) -> SourceSet {
        let all = SourceSet::from([
            MemberSnapshot::nodes(),
            MemberSnapshot::service_traffics(),
            MemberSnapshot::hub_service_traffics(),
            MemberSnapshot::fleet_traffics(),
            MemberSnapshot::member_traffics(),
        ]);
        all.union(Executing::sources(settings))
    }

    /// Whether all of it was listed, or is known not to be had. Until then slices stay in their order.
    pub(crate) fn is_known(&self) -> bool {
        is_known(self.snapshot) && self.executing.is_known()
    }

    /// Whether this cluster runs Pods of others.
    pub(crate) fn is_executor(&self) -> bool {
        self.settings.virtual_nodes.executor
    }

    /// Which members run endpoints of this one.
    pub(crate) fn executing(&self) -> &Executing<'a> {
        &self.executing
    }

    /// Whether slices that are kept for an exporter may get another place: it is known which exporters have not come back.
    pub(crate) fn may_move_kept(&self) -> bool {
        self.is_known() && self.recalled.missing.is_some()
    }

    /// Whether an exporter has not come back to a hub that was built anew.
    pub(crate) fn is_missing(&self, cluster: &str) -> bool {
        let missing = self.recalled.missing.as_ref();
        missing.is_some_and(|missing| missing.contains(cluster))
    }

    /// Name of this cluster.
    pub(crate) fn importer(&self) -> &'a str {
        &self.settings.identity.cluster
    }

    /// How an order of endpoints is written; `plain` where slices that are not ours have endpoints without hints.
    pub(crate) fn encoding(&self, plain: bool) -> Encoding {
        Encoding::new(self.settings.traffic.data_plane, &self.zones, plain)
    }

    /// Zones of the nodes, and an empty one for nodes without.
    pub(crate) fn zones(&self) -> &BTreeSet<String> {
        &self.zones
    }

    /// Zones that a slice names which has named others before.
    pub(crate) fn named_zones(
        &self,
        named: &BTreeSet<String>,
        rewriting: bool,
    ) -> BTreeSet<String> {
        named_zones(named, &self.zones, rewriting).unwrap_or_default()
    }

    /// The time.
    pub(crate) fn now(&self) -> Duration {
        self.recalled.now
    }

    /// Earlier decisions on the Service.
    pub(crate) fn states(&self) -> &States {
        &self.recalled.states
    }

    /// What is to be remembered of the members.
    pub(crate) fn members(&self) -> &MemberMemory {
        &self.members
    }

    /// What is asked for, for a Service.
    pub(crate) fn rules(&self, service: &ObjectName) -> Rules {
        let importer = self.snapshot.service_traffics.get(service).map(|it| &it.spec);
        let hub = self.snapshot.hub_service_traffics.get(service).map(|it| &it.spec);
        let objects = [
            importer.map(|spec| (PolicySource::Importer, spec)),
            hub.map(|spec| (PolicySource::Hub, spec)),
            self.fleet.defaults.as_ref().map(|spec| (PolicySource::Fleet, spec)),
        ];
        Rules::of(&objects.into_iter().flatten().collect::<Vec<_>>())
    }

    /// What is in force for an exporter of a Service, and when that changes by itself.
    pub(crate) fn exporter(
        &self,
        rules: &Rules,
        service: &ObjectName,
        cluster: &str,
        headless: bool,
    ) -> (Exporter, Option<Duration>) {
        let own = *cluster == *self.importer();
        let (theirs, ours) = (self.properties(cluster), self.properties(self.importer()));
        let rank = rules.preference.rank(rules.fallback, own, &theirs, &ours);
        let drained = self.members.drained(cluster, &service.to_string());
        let (allow, now) = (self.fleet.allow_remove, self.now());
        let silenced =
            self.members.silenced(cluster, self.member(cluster).map(|it| &**it), allow, now);
        // No cluster takes itself for silent: its own clients reach its own endpoints.
        let silenced = silenced.filter(|_| !own);
        let standing = standing(drained, silenced, rules.silence, headless);
        let exporter = Exporter {
            own,
            rank,
            last_resort_percent: standing.last_resort_percent,
            removed: standing.removed,
            weight: rules.weights.get(cluster).copied().unwrap_or(1),
            withheld: BTreeSet::new(),
            unready: 0,
        };
        (exporter, standing.again_in)
    }

    /// Serials of what the hub has decided about clusters, 0 where it has decided nothing.
    pub(crate) fn serials<'b>(
        &self,
        clusters: impl IntoIterator<Item = &'b String>,
    ) -> BTreeMap<String, i64> {
        let serial = |cluster: &'b String| {
            let serial = self.member(cluster).map_or(0, |member| member.status.serial);
            (cluster.clone(), serial)
        };
        clusters.into_iter().map(serial).collect()
    }

    /// Why a policy is not in force as it stands, whatever the Service is.
    pub(crate) fn limit(&self) -> Option<Limit> {
        let orders = self.settings.traffic.data_plane == DataPlane::KubeProxy;
        if !self.is_known() {
            return Some(Limit::Held);
        }
        (orders && self.zones.len() > MAX_ZONES).then_some(Limit::ManyZones)
    }

    /// When so many paced writes come.
    pub(crate) fn turn(&self, writes: u32) -> Turn {
        let Recalled { pace, noted, now, .. } = &self.recalled;
        pace.turn(writes, *noted, self.per_second(), *now)
    }

    /// How many paced writes may come in a second.
    pub(crate) fn per_second(&self) -> u32 {
        u32::try_from(self.fleet.shape_writes_per_second).unwrap_or(1)
    }

    fn member(&self, cluster: &str) -> Option<&'a Object<MemberTraffic>> {
        self.snapshot.member_traffics.get(&ObjectName::cluster(cluster))
    }

    /// Properties that selectors see. The id of a cluster is its name.
    fn properties(&self, cluster: &str) -> Properties {
        let member = self.member(cluster);
        let mut properties =
            member.map(|member| member.status.properties.clone()).unwrap_or_default();
        properties.insert(CLUSTER_ID.to_owned(), cluster.to_owned());
        properties
    }
}

/// Whether all that the ground is made from was listed, or is known not to be had.
pub(crate) fn is_known(snapshot: &MemberSnapshot) -> bool {
    snapshot.nodes.bootstrapped()
        && snapshot.service_traffics.has_answered()
        && snapshot.hub_service_traffics.has_answered()
        && snapshot.fleet_traffics.has_answered()
        && snapshot.member_traffics.has_answered()
}

/// Zones of the nodes, and an empty one for nodes without. No client is on a virtual node.
pub(crate) fn zones(executing: &Executing<'_>, snapshot: &MemberSnapshot) -> BTreeSet<String> {
    let nodes = snapshot.nodes.iter();
    let real = nodes.filter(|node| executing.of_node(Some(&*node.name.name)).is_none());
    real.map(|node| node.zone.as_deref().unwrap_or_default().to_owned()).collect()
}
