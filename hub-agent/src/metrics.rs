//! Metrics of the hub agent: ages of the members' heartbeats, computed at each scrape, so that no series has to be
//! removed with its member.

use std::fmt;

use fleet_accumulator::Accumulator;
use fleet_api::names::member_of_namespace;
use fleet_runtime::clock::Clock;
use jiff::Timestamp;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{GaugeVec, IntGaugeVec, Opts};

use crate::Settings;
use crate::heartbeat::{heartbeat_timeout, last_heartbeat};
use crate::snapshot::HubSnapshot;

/// The age of each member's last heartbeat, and whether it is too old.
///
/// The label values are names of members: a fleet has few, and their series end with them.
pub struct HeartbeatMetrics {
    accumulator: Accumulator<HubSnapshot>,
    clock: Clock,
    settings: Settings,
    descriptions: Vec<Desc>,
}

impl fmt::Debug for HeartbeatMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeartbeatMetrics").finish_non_exhaustive()
    }
}

impl HeartbeatMetrics {
    /// Metrics of what `accumulator` shows.
    ///
    /// # Errors
    /// If a name or a label is not allowed, which only a change of this file can cause.
    pub fn new(
        accumulator: Accumulator<HubSnapshot>,
        settings: Settings,
        clock: Clock,
    ) -> Result<Self, prometheus::Error> {
        let (age, stale) = gauges()?;
        let descriptions = [age.desc(), stale.desc()].concat().into_iter().cloned().collect();
        Ok(Self { accumulator, clock, settings, descriptions })
    }
}

impl Collector for HeartbeatMetrics {
    fn desc(&self) -> Vec<&Desc> {
        self.descriptions.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        families(&self.settings, &self.accumulator.snapshot(), self.clock.now()).unwrap_or_default()
    }
}

fn gauges() -> Result<(GaugeVec, IntGaugeVec), prometheus::Error> {
    let age = Opts::new(
        "fleet_networking_member_heartbeat_age_seconds",
        "Time since the last heartbeat of the networking agents of a joined member.",
    );
    let stale = Opts::new(
        "fleet_networking_member_heartbeat_stale",
        "1 for a joined member whose last heartbeat is too old, else 0. Its endpoints are kept.",
    );
    Ok((GaugeVec::new(age, &["member"])?, IntGaugeVec::new(stale, &["member"])?))
}

pub(crate) fn families(
    settings: &Settings,
    snapshot: &HubSnapshot,
    now: Timestamp,
) -> Result<Vec<MetricFamily>, prometheus::Error> {
    let (age, stale) = gauges()?;
    for object in snapshot.internal_members.iter() {
        // An InternalMemberCluster has the name of the member that its namespace belongs to.
        let member = member_of_namespace(&object.name.namespace);
        let member = member.filter(|member| **member == *object.name.name);
        let (Some(member), Some(last)) = (member, last_heartbeat(object)) else { continue };
        let age_of_last = now.duration_since(last);
        age.with_label_values(&[member]).set(age_of_last.as_secs_f64().max(0.0));
        let too_old = age_of_last >= heartbeat_timeout(settings, object);
        stale.with_label_values(&[member]).set(i64::from(too_old));
    }
    Ok([age.collect(), stale.collect()].concat())
}
