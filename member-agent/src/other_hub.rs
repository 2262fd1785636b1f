//! A hub that is another one than that which this cluster follows: rebuilt, or restored from a backup.
//!
//! What such a hub lacks was not necessarily withdrawn. Until its exporters have published there again, what was imported stays
//! (docs/design/traffic.md#a-hub-that-was-rebuilt).

use std::collections::{BTreeMap, BTreeSet};

use fleet_accumulator::{ClusterId, Object, Snapshot as _, SourceSet};
use fleet_api::traffic::FleetTrafficPhase;
use fleet_api::{ObjectName, annotations};
use fleet_model::objects::traffic::FleetTraffic;
use fleet_model::objects::{EndpointSlice, ServiceImport};

use crate::fence::record_name;
use crate::snapshot::MemberSnapshot;
use crate::traffic::Recalled;
use crate::{Identity, Settings};

/// A hub of another incarnation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OtherHub<'a> {
    /// Which hub it is; `None` while its agent has not answered, while its API server has just gone back in its history, and while
    /// more than one answers.
    present: Option<&'a str>,
    is_inconsistent: bool,
    snapshot: &'a MemberSnapshot,
}

impl<'a> OtherHub<'a> {
    /// The hub, if it is another one than that which is followed. Without traffic policies exporters report nothing to wait for.
    pub(crate) fn of(
        settings: &Settings,
        snapshot: &'a MemberSnapshot,
        followed: Option<&str>,
    ) -> Option<Self> {
        let followed = followed.filter(|_| settings.traffic.enabled)?;
        Self::unless_it_went_back(settings, snapshot, followed, went_back(snapshot))
    }

    /// The same, as plans see it: an address that leads to more than one hub leads to another one.
    pub(crate) fn recalled(
        settings: &Settings,
        snapshot: &'a MemberSnapshot,
        recalled: &Recalled,
    ) -> Option<Self> {
        let followed = recalled.followed.as_deref();
        if !recalled.hub_is_inconsistent {
            return Self::of(settings, snapshot, followed);
        }
        followed.filter(|_| settings.traffic.enabled)?;
        Some(Self { present: None, is_inconsistent: true, snapshot })
    }

    /// Whether more than one hub answers.
    pub(crate) fn is_inconsistent(&self) -> bool {
        self.is_inconsistent
    }

    /// A hub that goes back in its history answers what its backup has: that names no hub.
    fn unless_it_went_back(
        settings: &Settings,
        snapshot: &'a MemberSnapshot,
        followed: &str,
        went_back: bool,
    ) -> Option<Self> {
        let present = present(&settings.identity, snapshot).filter(|_| !went_back);
        (present != Some(followed)).then_some(Self { present, is_inconsistent: false, snapshot })
    }

    /// Whether a cluster has published all that it exports there, or is forgotten by an administrator.
    pub(crate) fn may_forget(&self, cluster: &str) -> bool {
        let member = self.snapshot.member_traffics.get(&ObjectName::cluster(cluster));
        let (Some(present), Some(member)) = (self.present, member) else { return false };
        let says = [member.spec.forgotten_in.as_deref(), member.status.complete.as_deref()];
        says.contains(&Some(present))
    }

    /// Whether new content of a cluster may be older than it seems: the hub had it in an earlier incarnation, and the cluster has not
    /// published in this one.
    pub(crate) fn is_outdated(&self, cluster: &str) -> bool {
        let member = self.snapshot.member_traffics.get(&ObjectName::cluster(cluster));
        let earlier = member.and_then(|member| member.status.complete.as_deref());
        earlier.is_some() && !self.may_forget(cluster)
    }

    /// Whether it has everything that was imported here.
    fn has_all(&self, identity: &Identity) -> bool {
        let (lacking, imports) = (self.lacking(identity), &self.snapshot.service_imports);
        let is_back = |cluster: &str| self.may_forget(cluster);
        // A backup has copies of everything, older ones.
        let has_copies = |cluster: &str, lacks: bool| !lacks && !self.is_outdated(cluster);
        let mut exporters = imports.iter().flat_map(|import| self.missing_exporters(import));
        lacking.into_iter().all(|(cluster, lacks)| has_copies(cluster, lacks) || is_back(cluster))
            && exporters.all(is_back)
    }

    /// The clusters of which slices are imported here, and whether the hub lacks one of those.
    fn lacking(&self, identity: &Identity) -> BTreeMap<&'a str, bool> {
        let mut lacking: BTreeMap<&str, bool> = BTreeMap::new();
        for slice in slices(identity, self.snapshot) {
            let Some(cluster) = origin(slice) else { continue };
            *lacking.entry(cluster).or_default() |= !self.has_copy(identity, slice);
        }
        lacking
    }

    /// The clusters of which slices are imported here, and of which nothing has come back to the hub.
    pub(crate) fn missing(&self, identity: &Identity) -> BTreeSet<&'a str> {
        let copies = self.snapshot.slice_imports.iter();
        let back: BTreeSet<&str> = copies.map(|copy| copy.origin()).collect();
        let lacking = self.lacking(identity).into_iter();
        let missing = lacking.filter(|(cluster, lacks)| *lacks && !back.contains(cluster));
        missing.map(|(cluster, _)| cluster).filter(|it| !self.has_published(it)).collect()
    }

    /// Whether a cluster has published all that it exports there. One that is forgotten has not come back.
    fn has_published(&self, cluster: &str) -> bool {
        let member = self.snapshot.member_traffics.get(&ObjectName::cluster(cluster));
        let complete = member.and_then(|member| member.status.complete.as_deref());
        complete.is_some() && complete == self.present
    }

    fn has_copy(&self, identity: &Identity, slice: &Object<EndpointSlice>) -> bool {
        let name = identity.copy_of(&slice.name);
        self.snapshot.slice_imports.get(&name).is_some()
    }

    /// Exporters of an import that the hub has not granted again.
    fn missing_exporters<'b>(
        &self,
        import: &'b Object<ServiceImport>,
    ) -> impl Iterator<Item = &'b str> + use<'b> {
        let granted: BTreeSet<String> = self
            .snapshot
            .internal_imports
            .by(&import.name)
            .flat_map(|request| &request.status.clusters)
            .map(|status| status.cluster.clone())
            .collect();
        let known = import.object.status.clusters.iter().map(|status| status.cluster.as_str());
        known.filter(move |cluster| !granted.contains(*cluster))
    }
}

/// The cluster that an imported slice is from. A Go agent does not note it.
pub(crate) fn origin(slice: &Object<EndpointSlice>) -> Option<&str> {
    slice.object.meta.annotation(annotations::ORIGIN_CLUSTER)
}

/// Which hub it is, as its agent has answered.
pub(crate) fn present<'a>(identity: &Identity, snapshot: &'a MemberSnapshot) -> Option<&'a str> {
    let report = snapshot.cluster_reports.get(&record_name(identity));
    report.filter(|report| !report.terminating)?.object.incarnation.as_deref()
}

/// The hub that is followed from now on: another one once it has everything that was imported.
pub(crate) fn next(
    settings: &Settings,
    snapshot: &MemberSnapshot,
    followed: Option<&str>,
) -> Option<String> {
    let identity = &settings.identity;
    let is_new = |other: &OtherHub<'_>| speaks(snapshot) && other.has_all(identity);
    let adopts = match OtherHub::of(settings, snapshot, followed) {
        Some(other) => is_new(&other),
        None => followed.is_none(),
    };
    let present = present(identity, snapshot).filter(|_| adopts);
    present.or(followed).map(str::to_owned)
}

/// Which hub it is, if it shows what it has, and whether its members have had their time to come back to it.
pub(crate) fn shown<'a>(
    settings: &Settings,
    snapshot: &'a MemberSnapshot,
) -> Option<(&'a str, bool)> {
    let fleets = &snapshot.fleet_traffics;
    let phase = FleetTraffic::of(fleets).and_then(|fleet| fleet.status.phase);
    let is_settled = fleets.state().is_live() && phase == Some(FleetTrafficPhase::Settled);
    let present = present(&settings.identity, snapshot).filter(|_| speaks(snapshot))?;
    Some((present, is_settled))
}

/// Whether the hub shows what it has.
fn speaks(snapshot: &MemberSnapshot) -> bool {
    let states = [
        snapshot.slice_imports.state(),
        snapshot.internal_imports.state(),
        snapshot.cluster_reports.state(),
    ];
    let members = &snapshot.member_traffics;
    // A hub that does not decide about traffic does not serve it.
    let are_members_known =
        members.state().is_live() || (!members.bootstrapped() && members.has_answered());
    states.iter().all(|state| state.is_live()) && are_members_known && !went_back(snapshot)
}

/// Whether the API server of the hub went back in its history, or another one answered, lately.
fn went_back(snapshot: &MemberSnapshot) -> bool {
    snapshot.is_settling(sources())
}

/// Whether the API server of the hub went back in its history lately, so that the hub needs another incarnation. A server that only
/// orders requests in another way than before has not; another cluster has another incarnation by itself.
pub(crate) fn lost_history(snapshot: &MemberSnapshot) -> bool {
    snapshot.went_back(sources())
}

/// Whether any source of the hub has seen its API server change lately.
pub(crate) fn is_in_doubt(snapshot: &MemberSnapshot) -> bool {
    let of_hub = MemberSnapshot::sources().iter().filter(|source| source.cluster == ClusterId::Hub);
    snapshot.is_settling(of_hub.map(|source| source.id).collect())
}

fn sources() -> SourceSet {
    SourceSet::from([
        MemberSnapshot::slice_imports(),
        MemberSnapshot::internal_imports(),
        MemberSnapshot::internal_exports(),
        MemberSnapshot::slice_exports(),
        MemberSnapshot::member_traffics(),
        MemberSnapshot::cluster_reports(),
    ])
}

fn slices<'a>(
    identity: &Identity,
    snapshot: &'a MemberSnapshot,
) -> impl Iterator<Item = &'a Object<EndpointSlice>> + use<'a> {
    let slices = snapshot.endpoint_slices.in_namespace(&identity.system_namespace);
    slices.filter(|slice| slice.is_imported() && !slice.meta.is_terminating())
}

#[cfg(test)]
mod tests {
    use fleet_accumulator::ClusterId;
    use fleet_api::kinds;
    use fleet_model_server::ModelServer;
    use serde_json::json;

    use super::*;
    use crate::settings::Traffic;

    /// Between the restore and the next answer of the hub agent the answer is that of the backup.
    #[test]
    fn a_hub_that_has_just_gone_back_is_another_one_whatever_it_answers() {
        let (own, mut hub) = (ModelServer::new(ClusterId::Local), ModelServer::new(ClusterId::Hub));
        let mut settings = Settings::new("b");
        settings.traffic = Traffic { enabled: true, ..Traffic::default() };
        let name = record_name(&settings.identity);
        hub.create(kinds::CLUSTER_REPORT, &name, json!({ "spec": { "clusterUid": "u" } })).unwrap();
        let answer = json!({ "incarnation": "hub/0" });
        hub.edit(kinds::CLUSTER_REPORT, &name, |report| report["status"] = answer).unwrap();
        let exporter = ObjectName::cluster("a");
        hub.create(kinds::MEMBER_TRAFFIC, &exporter, json!({ "spec": {} })).unwrap();
        let status = json!({ "complete": "hub/0" });
        hub.edit(kinds::MEMBER_TRAFFIC, &exporter, |it| it["status"] = status).unwrap();
        let snapshot = crate::tests::snapshot(&settings.identity, &own, &hub);
        let other = |back: bool| OtherHub::unless_it_went_back(&settings, &snapshot, "hub/0", back);
        assert!(other(false).is_none());
        assert!(other(true).is_some_and(|hub| hub.is_outdated("a") && !hub.may_forget("a")));
    }
}
