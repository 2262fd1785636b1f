//! Runs a scenario: reconciles, writes to the store, and reconciles again to check that nothing is left to write.

use std::collections::{BTreeMap, BTreeSet};

use fleet_endpointslice::{
    Changes, Efficiency, Event, Input, Measures, NodeView, Outcome, Pods, Problem, ServiceHints,
    TopologyCache, Tracker, reconcile,
};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

use crate::outcome::{self, Failure};
use crate::scenario::{Scenario, address_type};
use crate::store::Store;
use crate::{Answer, exact};

/// State that is kept between two passes.
pub(crate) struct World<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) store: Store,
    pub(crate) tracker: Tracker,
    pub(crate) failures: BTreeSet<Failure>,
    pub(crate) events: Vec<Event>,
    pub(crate) wording: Vec<String>,
    pub(crate) measured: Vec<Measures>,
    pub(crate) efficiency: Efficiency,
    topology: Option<TopologyCache>,
}

pub(crate) fn answer(request: Value, brief: bool) -> Answer {
    let mut scenario: Scenario = serde_json::from_value(request)?;
    check(&scenario)?;
    scenario.normalise();
    let trigger_time = scenario.trigger_time()?;
    let mut world = World::new(&scenario);
    world.pass(&scenario.slices, trigger_time);
    let mut outcome = outcome::describe(&world);
    let exact = (!brief).then(|| exact::describe(&world));
    if scenario.config.settle() {
        outcome.settle = Some(world.settle());
    }
    let agreed = [
        "errors", "counts", "events", "packing", "groups", "doomed", "hints", "tracker", "settle",
        "metrics",
    ];
    let mut result = json!({"runs": 1, "stable": true, "agreed": agreed, "outcomes": [serde_json::to_value(outcome)?]});
    if let Some(exact) = exact {
        result["exact"] = exact;
    }
    Ok(result)
}

fn check(scenario: &Scenario) -> Result<(), String> {
    if scenario.name().is_empty() {
        return Err("service.metadata.name is required".to_owned());
    }
    if scenario.config.config().limit == 0 {
        return Err("maxEndpointsPerSlice must be at least 1".to_owned());
    }
    let names: BTreeSet<_> = scenario.slices.iter().map(|slice| &slice.metadata.name).collect();
    if names.len() < scenario.slices.len() || names.contains(&None) {
        return Err("existing slices need distinct names".to_owned());
    }
    Ok(())
}

impl<'a> World<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let topology = scenario.config.topology_cache().then(|| {
            let mut topology = TopologyCache::default();
            if scenario.config.set_nodes() {
                topology.set_nodes(&scenario.nodes);
            }
            let mut hints = ServiceHints::default();
            for (text, counts) in &scenario.config.prior_hints {
                hints.extend(address_type(text).map(|known| (known, counts.clone())));
            }
            topology.set_hints(&scenario.key(), hints);
            topology
        });
        Self {
            scenario,
            store: Store::new(&scenario.slices, &scenario.config.faults),
            tracker: Tracker::default(),
            failures: BTreeSet::new(),
            events: Vec::new(),
            wording: Vec::new(),
            measured: Vec::new(),
            efficiency: Efficiency::default(),
            topology,
        }
    }

    fn pass(&mut self, existing: &[EndpointSlice], trigger_time: Option<Timestamp>) {
        let scenario = self.scenario;
        let nodes: BTreeMap<_, _> = scenario
            .nodes
            .iter()
            .map(|node| (node.metadata.name.as_deref().unwrap_or_default(), NodeView::of(node)))
            .collect();
        let pods: Vec<&Pod> = scenario.pods.iter().collect();
        let source = Pods { pods: &pods, node: &|name| nodes.get(name).copied(), addresses: None };
        let existing: Vec<&EndpointSlice> = existing.iter().collect();
        let key = scenario.key();
        let topology = self.topology.clone();
        let config = scenario.config.config();
        let outcome = reconcile(&Input {
            service: &scenario.service,
            source: &source,
            existing: &existing,
            trigger_time,
            topology: topology.as_ref().map(|topology| topology.overview(&key)),
            config: &config,
        });
        let measures = outcome.changes.iter().map(|changes| &changes.measures);
        self.efficiency.update(&key, measures, config.limit);
        self.write(&outcome);
        self.events.extend(&outcome.events);
        self.wording.extend(outcome.events.iter().map(Event::to_string));
        for problem in &outcome.problems {
            let Problem::MissingNode { pod, .. } = problem else { continue };
            self.note("missing-node", pod, &problem.to_string());
        }
        if let Some(topology) = &mut self.topology {
            topology.set_hints(&key, outcome.hints);
        }
    }

    fn write(&mut self, outcome: &Outcome<'_>) {
        for changes in &outcome.changes {
            if self.write_type(changes).is_ok() {
                self.measured.push(changes.measures.clone());
            }
        }
        for slice in &outcome.unsupported {
            let _ = self.delete(slice);
        }
    }

    /// Sends the writes of one address type until one fails.
    fn write_type(&mut self, changes: &Changes<'_>) -> Result<(), ()> {
        for slice in &changes.creates {
            match self.store.create(slice) {
                Ok(slice) => self.tracker.update(&slice),
                Err(error) if error == "NamespaceTerminating" => return Err(()),
                Err(error) => return self.fail("create", "", &error),
            }
        }
        for update in &changes.updates {
            match self.store.update(update) {
                Ok(slice) => self.tracker.update(&slice),
                Err(error) => {
                    let name = update.slice.metadata.name.as_deref().unwrap_or_default();
                    return self.fail("update", name, &error);
                }
            }
        }
        changes.deletes.iter().try_for_each(|slice| self.delete(slice))
    }

    fn delete(&mut self, slice: &EndpointSlice) -> Result<(), ()> {
        let name = slice.metadata.name.as_deref().unwrap_or_default();
        match self.store.delete(name) {
            Ok(()) => self.tracker.expect_deletion(slice),
            Err(error) => return self.fail("delete", name, &error),
        }
        Ok(())
    }

    fn fail(&mut self, kind: &'static str, subject: &str, wording: &str) -> Result<(), ()> {
        self.note(kind, subject, wording);
        Err(())
    }

    fn note(&mut self, kind: &'static str, subject: &str, wording: &str) {
        self.failures.insert(Failure { kind, subject: subject.to_owned() });
        self.wording.push(wording.to_owned());
    }

    /// Reconciles with the slices that the controller would now select, and counts the writes.
    fn settle(&mut self) -> outcome::Counts {
        self.store.faults.clear();
        let before = self.store.calls.len();
        let manager = self.scenario.config.config().manager;
        let mut existing = self.store.list();
        existing.retain(|slice| {
            let label =
                |key: &str| slice.metadata.labels.as_ref().and_then(|labels| labels.get(key));
            label("kubernetes.io/service-name").map(String::as_str) == Some(self.scenario.name())
                && label("endpointslice.kubernetes.io/managed-by") == Some(&manager)
                && slice.metadata.deletion_timestamp.is_none()
        });
        self.pass(&existing, None);
        outcome::Counts::of(&self.store.calls[before..])
    }
}
