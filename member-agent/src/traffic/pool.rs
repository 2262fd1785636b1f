//! All slices of a Service that are imported, and where their endpoints go (docs/design/traffic.md#slots).
//!
//! kube-proxy decides per port and address family, so the slots are decided for each. An endpoint of several ports gets the best.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use fleet_api::ObjectName;
use fleet_traffic::{
    Conditions, Decision, Encoding, Endpoint, Family, Found, Policy, Seed, Source, State,
    Withdrawal, decide,
};

use super::exporter::Exporter;
use super::placed::Placed;

/// What is remembered of the decisions on a Service, by family and port.
pub(crate) type States = BTreeMap<(Protocol, String), State>;

/// An address family, in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Protocol {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// One slice, as its exporter has it and as far as it is admitted here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PooledSlice {
    /// The exporting cluster.
    pub(crate) cluster: String,
    /// Family of its addresses.
    pub(crate) family: Protocol,
    /// Names of its ports.
    pub(crate) ports: BTreeSet<String>,
    /// Its endpoints.
    pub(crate) endpoints: Vec<PooledEndpoint>,
}

/// One endpoint of a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PooledEndpoint {
    /// Its first address.
    pub(crate) address: String,
    /// As its exporter reports it, and as far as it is admitted here.
    pub(crate) conditions: Conditions,
    /// The cluster to which it belongs, if that is not its exporter: it runs there.
    pub(crate) executor: Option<String>,
}

/// What is to be decided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    /// Name of this cluster.
    pub(crate) importer: &'a str,
    /// The Service of the fleet.
    pub(crate) service: &'a ObjectName,
    /// How an order is written.
    pub(crate) encoding: Encoding,
    /// What its owner and this cluster ask for, ranks aside.
    pub(crate) policy: Policy,
    /// All accepted exporters, those without a slice as well: ranks do not follow from readiness.
    pub(crate) exporters: &'a BTreeMap<String, Exporter>,
    /// The clusters that run endpoints of exporters, and do not export the Service.
    pub(crate) executors: &'a BTreeMap<String, Exporter>,
    /// All slices.
    pub(crate) slices: &'a [PooledSlice],
    /// Where endpoints are at present, for a process that remembers nothing.
    pub(crate) found: &'a Found,
}

/// The decision on one port.
#[derive(Clone, Debug)]
pub(crate) struct PortDecision {
    /// What was decided on, in the order of the slots.
    pub(crate) sources: Vec<Source>,
    /// What was decided.
    pub(crate) decision: Decision,
}

/// Where all endpoints go.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// In the order of the slices and their endpoints.
    pub(crate) placed: Vec<Vec<Placed>>,
    /// For the next decision.
    pub(crate) states: States,
    /// When the answer may change although nothing else does.
    pub(crate) again_at: Option<Duration>,
    /// The decision on the first port, for reports.
    pub(crate) first: Option<PortDecision>,
}

impl Answer {
    /// Whether endpoints of a lower rank are in use in place of better ones.
    pub(crate) fn is_promoted(&self) -> bool {
        self.states.values().any(|state| state.promoted().is_some())
    }
}

impl Question<'_> {
    /// Decides for every family and port. `now` is on the clock of the times in `before`.
    pub(crate) fn answer(self, before: &States, now: Duration) -> Answer {
        let mut round = Round::new(self);
        let keys: BTreeSet<_> = self.slices.iter().flat_map(PooledSlice::keys).collect();
        for key in keys {
            round.decide(key, before, now);
        }
        round.answer
    }
}

impl PooledSlice {
    fn keys(&self) -> impl Iterator<Item = (Protocol, &str)> {
        self.ports.iter().map(|port| (self.family, port.as_str()))
    }

    /// The cluster to which one of its endpoints belongs.
    fn cluster_of<'a>(&'a self, endpoint: &'a PooledEndpoint) -> &'a str {
        endpoint.executor.as_ref().unwrap_or(&self.cluster)
    }
}

/// The decisions so far.
struct Round<'a> {
    question: Question<'a>,
    answer: Answer,
    seen: Vec<Vec<Option<Placed>>>,
    /// The last port, for others that have the same endpoints.
    last: Option<Last>,
}

struct Last {
    subject: Subject,
    before: State,
    decision: PortDecision,
}

/// What a decision is about: the family, the slices with the port, and the clusters that expose it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Subject {
    family: Protocol,
    slices: Vec<usize>,
    clusters: Vec<String>,
}

impl<'a> Round<'a> {
    fn new(question: Question<'a>) -> Self {
        let plain = |slice: &PooledSlice| vec![Placed::PLAIN; slice.endpoints.len()];
        let unseen = |slice: &PooledSlice| vec![None; slice.endpoints.len()];
        let answer = Answer {
            placed: question.slices.iter().map(plain).collect(),
            states: States::new(),
            again_at: None,
            first: None,
        };
        let seen = question.slices.iter().map(unseen).collect();
        Self { question, answer, seen, last: None }
    }

    fn decide(&mut self, (family, port): (Protocol, &str), before: &States, now: Duration) {
        let key = (family, port.to_owned());
        let before = before.get(&key).cloned();
        let before = before.unwrap_or_else(|| State::begun(self.question.found.clone()));
        let subject = self.subject(family, port);
        let same = self.last.take().filter(|it| it.subject == subject && it.before == before);
        let decision = match same {
            Some(last) => last.decision,
            None => self.question.decide(&subject, &before, now),
        };
        self.place(&subject, &decision);
        let again = decision.decision.again_at;
        self.answer.again_at = [self.answer.again_at, again].into_iter().flatten().min();
        self.answer.states.insert(key, decision.decision.state.clone());
        self.answer.first.get_or_insert_with(|| decision.clone());
        self.last = Some(Last { subject, before, decision });
    }

    fn subject(&self, family: Protocol, port: &str) -> Subject {
        let Question { slices, exporters, .. } = self.question;
        let has = |slice: &PooledSlice| slice.family == family && slice.ports.contains(port);
        let slices = slices.iter().enumerate().filter(|(_, slice)| has(slice));
        let clusters = exporters.iter().filter(|(_, exporter)| exporter.exposes(port));
        Subject {
            family,
            slices: slices.map(|(at, _)| at).collect(),
            clusters: clusters.map(|(cluster, _)| cluster.clone()).collect(),
        }
    }

    /// Notes the slots of one port.
    fn place(&mut self, subject: &Subject, decided: &PortDecision) {
        let has_hints = decided.decision.has_hints;
        let pairs = decided.sources.iter().zip(&decided.decision.slots);
        let slots: HashMap<(&str, &str), _> = pairs
            .flat_map(|(source, slots)| {
                let endpoints = source.endpoints.iter().zip(slots);
                endpoints.map(|(one, slot)| ((&*source.cluster, &*one.address), *slot))
            })
            .collect();
        for at in &subject.slices {
            let slice = &self.question.slices[*at];
            for (place, endpoint) in slice.endpoints.iter().enumerate() {
                let key = (slice.cluster_of(endpoint), &*endpoint.address);
                let Some(slot) = slots.get(&key) else { continue };
                let placed = Placed { slot: *slot, has_hints };
                let seen = &mut self.seen[*at][place];
                let merged = seen.map_or(placed, |seen| seen.merged(placed));
                *seen = Some(merged);
                self.answer.placed[*at][place] = merged;
            }
        }
    }
}

impl<'a> Question<'a> {
    fn decide(self, subject: &Subject, before: &State, now: Duration) -> PortDecision {
        let seed = Seed {
            importer: self.importer.to_owned(),
            namespace: self.service.namespace.to_string(),
            name: self.service.name.to_string(),
            family: match subject.family {
                Protocol::V4 => Family::V4,
                Protocol::V6 => Family::V6,
            },
        };
        let (mut endpoints, running) = self.endpoints(subject);
        // A cluster that runs endpoints of this port has a rank, whether or not it exposes the port itself.
        let exposing = subject.clusters.iter().map(String::as_str);
        let clusters: BTreeSet<&str> = exposing.chain(running).collect();
        let sources = clusters.into_iter().filter_map(|cluster| {
            let standing = self.exporters.get(cluster).or_else(|| self.executors.get(cluster))?;
            Some(source(cluster, standing, endpoints.remove(cluster).unwrap_or_default()))
        });
        let sources: Vec<_> = sources.collect();
        let decision = decide(&seed, self.encoding, self.policy, &sources, before, now);
        PortDecision { sources, decision }
    }

    /// The endpoints by the cluster to which they belong, each address once: while a slice is repacked, two have it. And the clusters
    /// that run some of other exporters.
    fn endpoints(self, subject: &Subject) -> (ByCluster<'a>, BTreeSet<&'a str>) {
        let (mut all, mut running) = (ByCluster::new(), BTreeSet::new());
        for slice in subject.slices.iter().map(|at| &self.slices[*at]) {
            let exporter = self.exporters.get(&slice.cluster);
            let by_exporter = exporter.map(Exporter::withdrawal).unwrap_or_default();
            for endpoint in &slice.endpoints {
                let PooledEndpoint { address, conditions, executor } = endpoint;
                running.extend(executor.as_deref());
                let by_exporter = executor.as_ref().map(|_| by_exporter).unwrap_or_default();
                let offered = Offered { conditions: *conditions, by_exporter };
                let of_cluster = all.entry(slice.cluster_of(endpoint)).or_default();
                let known = of_cluster.entry(address).or_insert(offered);
                if conditions.ready {
                    *known = offered;
                }
            }
        }
        (all, running)
    }
}

/// Endpoints by cluster and address.
type ByCluster<'a> = HashMap<&'a str, BTreeMap<&'a str, Offered>>;

/// What is known of an endpoint beside its address.
#[derive(Clone, Copy)]
struct Offered {
    conditions: Conditions,
    by_exporter: Withdrawal,
}

fn source(cluster: &str, exporter: &Exporter, endpoints: BTreeMap<&str, Offered>) -> Source {
    let endpoint = |(address, offered): (&str, Offered)| Endpoint {
        address: address.to_owned(),
        conditions: offered.conditions,
        by_exporter: offered.by_exporter,
    };
    // What is not ready has no place of its own, and counts.
    let unready =
        (0..exporter.unready).map(|at| Endpoint::new(format!("unready {at}"), Conditions::UNREADY));
    Source {
        cluster: cluster.to_owned(),
        own: exporter.own,
        rank: exporter.rank,
        last_resort_percent: exporter.last_resort_percent,
        removed: exporter.removed,
        weight: exporter.weight,
        endpoints: endpoints.into_iter().map(endpoint).chain(unready).collect(),
    }
}
