//! One look at all slices of an import: what they are to be.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fleet_api::ObjectName;
use fleet_traffic::Found;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use super::change::same_endpoints;
use super::exporter::Exporter;
use super::ground::Ground;
use super::holding::{self, Manner};
use super::local::LocalWriter;
use super::placed::Placed;
use super::pool::{PooledEndpoint, PooledSlice, PortDecision, Protocol, Question, States};
use super::rules::Rules;
use super::runners::Runners;
use super::shaping::{Distribution, OwnTopology, address, conditions, named, shaped, slot};

/// A slice that is to be written, if it differs from what is here.
#[derive(Clone, Debug)]
pub(crate) struct Draft<'a> {
    /// The exporting cluster.
    pub(crate) cluster: String,
    /// As the exporter has it.
    pub(crate) source: EndpointSlice,
    /// As it is here.
    pub(crate) current: Option<&'a EndpointSlice>,
    /// Whether that was written from the same generation of the exporter's slice.
    pub(crate) is_same_generation: bool,
}

/// A slice that stays as it is, with its cluster.
pub(crate) type Kept<'a> = (&'a str, &'a EndpointSlice);

/// All slices of an import.
#[derive(Debug)]
pub(crate) struct Offer<'a> {
    /// The Service of the fleet.
    pub(crate) service: &'a ObjectName,
    /// What is asked for.
    pub(crate) rules: &'a Rules,
    /// All accepted exporters.
    pub(crate) exporters: &'a BTreeMap<String, Exporter>,
    /// Slices that follow their exporters.
    pub(crate) drafts: Vec<Draft<'a>>,
    /// Slices that stay as they are.
    pub(crate) kept: Vec<Kept<'a>>,
    /// Which clients own endpoints prefer.
    pub(crate) distribution: Distribution,
    /// Zones by the first address of each own endpoint.
    pub(crate) own_zones: BTreeMap<String, String>,
    /// Whether the Service has no address: DNS answers with all endpoints, and no proxy chooses.
    pub(crate) headless: bool,
    /// Who writes own endpoints; `None` where only the agent can.
    pub(crate) local: Option<LocalWriter>,
    /// Whether slices that are not ours have own endpoints without hints.
    pub(crate) plain: bool,
}

/// What became of an offer.
#[derive(Debug)]
pub(crate) struct Round {
    /// In the order of the drafts.
    pub(crate) slices: Vec<EndpointSlice>,
    /// For the next round.
    pub(crate) states: States,
    /// When it may change by itself.
    pub(crate) again_at: Option<Duration>,
    /// Whether endpoints of a lower rank are in use in place of better ones.
    pub(crate) is_promoted: bool,
    /// The decision on the first port, for reports.
    pub(crate) first: Option<PortDecision>,
}

impl Draft<'_> {
    fn is_empty_here(&self) -> bool {
        self.current.is_none_or(|current| current.endpoints.is_empty())
    }

    /// Whether the slice that is here shows that its cluster was out of use: then all of its endpoints are.
    fn is_left_out(&self) -> bool {
        self.is_same_generation && self.is_empty_here() && !self.source.endpoints.is_empty()
    }
}

impl Offer<'_> {
    /// The clusters that run endpoints of exporters.
    pub(crate) fn runners<'b>(&'b self, ground: &'b Ground<'b>) -> Runners<'b> {
        let drafts = self.drafts.iter().map(|draft| (&*draft.cluster, &draft.source));
        // What is here may name one that its exporter names no longer.
        let current =
            self.drafts.iter().filter_map(|draft| Some((&*draft.cluster, draft.current?)));
        Runners::of(ground, drafts.chain(current).chain(self.kept.iter().copied()))
    }

    /// Whether the endpoints of a cluster, which exports or runs some, are withdrawn on request.
    pub(crate) fn is_removed(&self, cluster: &str, executors: &BTreeMap<String, Exporter>) -> bool {
        let standing = self.exporters.get(cluster).or_else(|| executors.get(cluster));
        standing.is_some_and(|standing| standing.removed)
    }

    /// What the slices are to be. `executors` are the clusters that run endpoints and do not export the Service.
    pub(crate) fn round(
        &self,
        ground: &Ground<'_>,
        runners: &Runners<'_>,
        executors: &BTreeMap<String, Exporter>,
    ) -> Round {
        if self.headless {
            self.of_headless(runners, executors)
        } else if ground.is_known() {
            self.decided(ground, runners, executors)
        } else {
            self.held(ground, runners)
        }
    }

    /// DNS has no last resort: endpoints are there or not.
    fn of_headless(&self, runners: &Runners<'_>, executors: &BTreeMap<String, Exporter>) -> Round {
        let is_removed = |cluster: &str| self.is_removed(cluster, executors);
        let slices = self.drafts.iter().map(|draft| {
            let mut slice = draft.source.clone();
            if is_removed(&draft.cluster) {
                slice.endpoints.clear();
            }
            let runs =
                |one: &Endpoint| !runners.executor(&draft.cluster, one).is_some_and(is_removed);
            slice.endpoints.retain(runs);
            slice
        });
        Round::unchanged(slices.collect(), States::new())
    }

    /// Nothing is known yet of what is in force.
    fn held(&self, ground: &Ground<'_>, runners: &Runners<'_>) -> Round {
        let all = || {
            let drafts = self.drafts.iter();
            let drafts = drafts.filter_map(|draft| Some((&*draft.cluster, draft.current?)));
            drafts.chain(self.kept.iter().copied())
        };
        let out = self.all_out(ground, runners);
        let slices = self.drafts.iter().map(|draft| {
            let is_out = out.contains(&*draft.cluster) && draft.is_empty_here();
            if is_out || draft.is_left_out() {
                return EndpointSlice { endpoints: Vec::new(), ..draft.source.clone() };
            }
            let here = all().filter(|(cluster, _)| *cluster == draft.cluster);
            let own = self.is_own(&draft.cluster);
            let (here, others) = (here.map(|(_, slice)| slice), all().map(|(_, slice)| slice));
            let manner = Manner::of(own, here, others, ground.zones());
            holding::held(&draft.source, draft.current, &manner)
        });
        Round::unchanged(slices.collect(), ground.states().clone())
    }

    /// The clusters of which all endpoints are out of use, by slices that are.
    fn all_out(&self, ground: &Ground<'_>, runners: &Runners<'_>) -> BTreeSet<&str> {
        // Where all run in other clusters, one of those may be out of use, and the exporter is not. Which of this cluster's own do so
        // is known with its virtual nodes.
        let runs_itself = |draft: &&Draft<'_>| {
            let mut all = draft.source.endpoints.iter();
            let is_known = ground.executing().is_known() || !self.is_own(&draft.cluster);
            is_known && all.any(|one| runners.executor(&draft.cluster, one).is_none())
        };
        let left_out = self.drafts.iter().filter(|draft| draft.is_left_out());
        left_out.filter(runs_itself).map(|draft| &*draft.cluster).collect()
    }

    fn is_own(&self, cluster: &str) -> bool {
        self.exporters.get(cluster).is_some_and(|exporter| exporter.own)
    }

    fn decided(
        &self,
        ground: &Ground<'_>,
        runners: &Runners<'_>,
        executors: &BTreeMap<String, Exporter>,
    ) -> Round {
        let drafts = self.drafts.iter();
        let drafts = drafts.filter_map(|draft| pooled(&draft.cluster, &draft.source, runners));
        let kept = self.kept.iter().filter_map(|(cluster, slice)| pooled(cluster, slice, runners));
        let pooled: Vec<_> = drafts.chain(kept).collect();
        let found = if ground.states().is_empty() { self.found(runners) } else { Found::default() };
        let question = Question {
            importer: ground.importer(),
            service: self.service,
            encoding: ground.encoding(self.plain),
            policy: self.rules.policy,
            exporters: self.exporters,
            executors,
            slices: &pooled,
            found: &found,
        };
        let answer = question.answer(ground.states(), ground.now());
        let own = self.own_topology(runners);
        let mut placed = answer.placed.iter();
        let slices = self.drafts.iter().map(|draft| {
            let is_pooled = Protocol::of(&draft.source).is_some();
            let placed = if is_pooled { placed.next() } else { None };
            placed.map_or_else(
                || draft.source.clone(),
                |placed| self.shaped(ground, draft, placed, &own),
            )
        });
        Round {
            slices: slices.collect(),
            is_promoted: answer.is_promoted(),
            states: answer.states,
            again_at: answer.again_at,
            first: answer.first,
        }
    }

    /// Where endpoints are at present.
    fn found(&self, runners: &Runners<'_>) -> Found {
        let drafts = self.drafts.iter();
        let drafts = drafts.filter_map(|draft| Some((&*draft.cluster, draft.current?)));
        let all = drafts.chain(self.kept.iter().copied());
        let endpoints =
            all.flat_map(|(cluster, slice)| slice.endpoints.iter().map(move |one| (cluster, one)));
        let found = endpoints.map(|(exporter, one)| {
            let cluster = runners.executor(exporter, one).unwrap_or(exporter);
            ((cluster.to_owned(), address(one).to_owned()), slot(one))
        });
        found.collect()
    }

    /// Zones that no node has any more are named until the slice is written anyway.
    fn shaped(
        &self,
        ground: &Ground<'_>,
        draft: &Draft<'_>,
        placed: &[Placed],
        own: &OwnTopology,
    ) -> EndpointSlice {
        let is_own = self.is_own(&draft.cluster);
        let own = is_own.then_some(own);
        let before = draft.current.map(named).unwrap_or_default();
        let zones = |rewriting| ground.named_zones(&before, rewriting);
        let slice = shaped(&draft.source, placed, &zones(false), own);
        match draft.current {
            Some(current) if same_endpoints(current, &slice) => slice,
            _ => shaped(&draft.source, placed, &zones(true), own),
        }
    }

    fn own_topology(&self, runners: &Runners<'_>) -> OwnTopology {
        let own: Vec<_> = self.drafts.iter().filter(|draft| self.is_own(&draft.cluster)).collect();
        let elsewhere =
            own.iter().flat_map(|draft| runners.elsewhere(&draft.cluster, &draft.source));
        let elsewhere: BTreeSet<String> = elsewhere.collect();
        let endpoints = own.iter().flat_map(|draft| &draft.source.endpoints);
        let here = endpoints.filter(|endpoint| !elsewhere.contains(address(endpoint)));
        let ready = here.filter(|endpoint| conditions(endpoint).ready);
        let ready_zones =
            ready.filter_map(|endpoint| self.own_zones.get(address(endpoint)).cloned()).collect();
        let (distribution, zones) = (self.distribution, self.own_zones.clone());
        OwnTopology { distribution, zones, ready_zones, elsewhere }
    }
}

impl Round {
    fn unchanged(slices: Vec<EndpointSlice>, states: States) -> Self {
        Self { slices, states, again_at: None, is_promoted: false, first: None }
    }
}

impl Protocol {
    /// Family of a slice; `None` for one that no proxy uses.
    fn of(slice: &EndpointSlice) -> Option<Self> {
        match slice.address_type.as_str() {
            "IPv4" => Some(Self::V4),
            "IPv6" => Some(Self::V6),
            _ => None,
        }
    }
}

fn pooled(cluster: &str, slice: &EndpointSlice, runners: &Runners<'_>) -> Option<PooledSlice> {
    let ports = slice.ports.iter().flatten();
    let endpoint = |one: &Endpoint| PooledEndpoint {
        address: address(one).to_owned(),
        conditions: conditions(one),
        executor: runners.executor(cluster, one).map(str::to_owned),
    };
    Some(PooledSlice {
        cluster: cluster.to_owned(),
        family: Protocol::of(slice)?,
        ports: ports.map(|port| port.name.clone().unwrap_or_default()).collect(),
        endpoints: slice.endpoints.iter().map(endpoint).collect(),
    })
}
