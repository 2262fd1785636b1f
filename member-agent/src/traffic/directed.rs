//! What a plan does with a decision: which writes wait, and what is remembered.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::decided::Decided;
use super::exporter::Exporter;
use super::ground::Ground;
use super::limit::Limit;
use super::local::LocalWriter;
use super::outlook::{self, Outlook};
use super::pool::States;
use super::report::Report;
use super::round::{Offer, Round};
use super::runners::Runners;
use super::subject::Subject;
use crate::measurement::{Measurement, Plan};

/// The slices of an import were directed.
#[derive(Debug)]
pub(crate) struct Directed {
    subject: Subject,
    states: States,
    serials: BTreeMap<String, i64>,
    is_promoted: bool,
    again_in: Option<Duration>,
    report: Report,
}

impl Directed {
    /// Directs an offer. Returns its slices, in the order of the drafts. `again_in` is when what it is made of changes by itself.
    pub(crate) fn of(
        subject: Subject,
        offer: &Offer<'_>,
        ground: &Ground<'_>,
        limit: Option<Limit>,
        again_in: Option<Duration>,
    ) -> (Vec<EndpointSlice>, Self) {
        let runners = offer.runners(ground);
        let (executors, changes_in) = executors(offer, ground, &runners);
        let round = offer.round(ground, &runners, &executors);
        let Round { slices, states, again_at, is_promoted, first } = round;
        let again = again_at.map(|at| at.saturating_sub(ground.now()));
        let limit = if offer.headless { Some(Limit::Headless) } else { limit };
        let of_local = || offer.local.and_then(LocalWriter::limit);
        let limit = limit.or_else(|| of_local().filter(|_| ground.is_known()));
        let limit = limit.or_else(|| ground.limit());
        let local = offer.local.map(LocalWriter::wire);
        let is_removed = |cluster: &str| offer.is_removed(cluster, &executors);
        let report = Report::of(offer.rules, &is_removed, first.as_ref(), limit);
        let report = Report { local, ..report };
        let directed = Self {
            subject,
            states,
            serials: ground.serials(offer.exporters.keys().chain(executors.keys())),
            is_promoted,
            again_in: [again, again_in, changes_in].into_iter().flatten().min(),
            report,
        };
        (slices, directed)
    }

    /// Notes what was decided about `slices`; returns the names of those that have to wait.
    pub(crate) fn noted(
        self,
        ground: &Ground<'_>,
        slices: &[Outlook<'_>],
        plan: &mut Plan,
    ) -> BTreeSet<String> {
        let is_moving = slices.iter().any(Outlook::moves);
        let paced: BTreeSet<_> =
            slices.iter().filter(|one| one.may_wait()).map(Outlook::name).collect();
        // What takes the place of all others does not wait.
        let waits_well = !self.is_promoted && outlook::serves_meanwhile(slices);
        let paced = if waits_well { paced } else { BTreeSet::new() };
        let turn = ground.turn(u32::try_from(paced.len()).unwrap_or(u32::MAX));
        let waits = turn.waits_until().map(|at| at.saturating_sub(ground.now()));
        for after in [waits, self.again_in].into_iter().flatten() {
            plan.wake_within(after);
        }
        plan.measure(Measurement::Traffic(Box::new(Decided {
            subject: self.subject,
            states: self.states,
            members: ground.members().clone(),
            serials: self.serials,
            is_moving,
            turn,
            per_second: ground.per_second(),
            report: Some(self.report),
        })));
        if waits.is_some() { paced } else { BTreeSet::new() }
    }
}

/// What is in force for the clusters that run endpoints and do not export the Service, and when that changes by itself.
fn executors(
    offer: &Offer<'_>,
    ground: &Ground<'_>,
    runners: &Runners<'_>,
) -> (BTreeMap<String, Exporter>, Option<Duration>) {
    let others = runners.clusters().into_iter();
    let others = others.filter(|cluster| !offer.exporters.contains_key(*cluster));
    let mut again_in = None;
    let standing = |cluster: &str| {
        let (standing, again) =
            ground.exporter(offer.rules, offer.service, cluster, offer.headless);
        again_in = [again_in, again].into_iter().flatten().min();
        (cluster.to_owned(), standing)
    };
    (others.map(standing).collect(), again_in)
}

/// Ends a plan that may have directed nothing.
pub(crate) fn conclude(subject: Subject, exists: bool, plan: &mut Plan) {
    let mut measured = plan.measurements.iter();
    if measured.any(|measured| matches!(measured.what, Measurement::Traffic(_))) {
        return;
    }
    plan.measure(if exists {
        Measurement::TrafficIdle(subject)
    } else {
        Measurement::TrafficEnded(subject)
    });
}
