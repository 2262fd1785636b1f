//! Drains, verdicts and policies, as far as they show at members and their parts in Services.

use fleet_api::traffic::{ALL_SERVICES, DrainStatus, Preference, SilenceState};
use fleet_api::{ExportedSliceSpec, ObjectName};
use fleet_model::objects::traffic::{FleetTraffic, MemberTraffic};

use super::member::Drained;
use super::share::Share;
use crate::picture::Picture;

fn of_member<'a>(picture: &'a Picture, member: &str) -> Option<&'a MemberTraffic> {
    let traffic = picture.hub.member_traffics.get(&ObjectName::cluster(member))?;
    Some(&traffic.object)
}

/// How far a member is drained of all that it exports.
pub(super) fn drained(picture: &Picture, member: &str) -> Option<Drained> {
    let drains = &of_member(picture, member)?.status.drains;
    let all = drains.iter().find(|drain| drain.service == ALL_SERVICES)?;
    Some(Drained { state: all.reason.as_str(), percent: all.percent })
}

/// How many ready endpoints of an exporter are last resort in importers, since it is drained or silent.
pub(super) fn last_resort(picture: &Picture, member: &str, service: &ObjectName) -> usize {
    let Some(traffic) = of_member(picture, member) else { return 0 };
    let status = &traffic.status;
    let name = service.to_string();
    let find = |name: &str| status.drains.iter().find(|drain: &&DrainStatus| drain.service == name);
    let held = status.held_services.contains(&name);
    let drain = find(&name).or_else(|| find(ALL_SERVICES).filter(|_| !held));
    let silence = status.silence.as_ref().filter(|silence| silence.state == SilenceState::Silent);
    let drained = drain.map(|drain| drain.percent).unwrap_or_default();
    let percent = drained.max(silence.map(|silence| silence.percent).unwrap_or_default());
    let percent = usize::try_from(percent.clamp(0, 100)).unwrap_or_default();
    let Some(member) = picture.members.get(member) else { return 0 };
    let slices = member.snapshot.slice_exports.by(service);
    slices.map(|slice| (slice.spec.endpoints.len() * percent).div_ceil(100)).sum()
}

/// How many endpoints are used in an importer if nothing is ready, beside those that drain at their exporters.
pub(super) fn kept_back(
    picture: &Picture,
    member: &str,
    service: &ObjectName,
    shares: &[Share],
) -> usize {
    let last: usize = shares.iter().map(|share| share.last_resort).sum();
    let draining = |spec: &ExportedSliceSpec| spec.draining_endpoints.len();
    let hub = picture.hub.slice_exports.by(service).map(|slice| draining(&slice.spec));
    let draining: usize = hub.sum();
    if picture.members.contains_key(member) { last.saturating_sub(draining) } else { 0 }
}

/// What an importer prefers, by its own policy, that of the hub, or the defaults of the fleet.
pub(super) fn preference(
    picture: &Picture,
    member: &str,
    service: &ObjectName,
) -> Option<&'static str> {
    let snapshot = &picture.members.get(member)?.snapshot;
    let own = snapshot.service_traffics.get(service).and_then(|it| it.spec.preference);
    let hub = || snapshot.hub_service_traffics.get(service).and_then(|it| it.spec.preference);
    let fleet = || {
        let fleet = FleetTraffic::of(&picture.hub.fleet_traffics)?;
        fleet.spec.defaults.as_ref()?.preference
    };
    own.or_else(hub).or_else(fleet).map(Preference::as_str)
}
