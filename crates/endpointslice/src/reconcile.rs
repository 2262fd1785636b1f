//! Reconciles one Service: compares its endpoints with its slices and returns the missing writes.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::changes::{Changes, GroupSize, Measures, Packed};
use crate::groups;
use crate::hints;
use crate::hints::topology::{Overview, ServiceHints};
use crate::labels;
use crate::ownership;
use crate::packing;
use crate::placeholder;
use crate::recycling;
use crate::slice::Template;
use crate::trigger_time;
use crate::{AddressType, Config, Event, Hints, PortKey, Problem, Source};

/// Input of a reconcile.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a, S> {
    /// The Service.
    pub service: &'a Service,
    /// The endpoints behind it.
    pub source: &'a S,
    /// Its slices with this manager's label, without those being deleted.
    pub existing: &'a [&'a EndpointSlice],
    /// Time of the change that triggered the reconcile; see [`crate::TriggerTimes`].
    pub trigger_time: Option<Timestamp>,
    /// Capacity of the cluster's zones; `None` if the caller does not support the topology annotation.
    pub topology: Option<Overview<'a>>,
    /// Settings.
    pub config: &'a Config,
}

/// Result of a reconcile.
#[derive(Clone, Debug, Default)]
pub struct Outcome<'a> {
    /// Writes per address type. Types are independent of each other; within one, the first failure skips the rest.
    pub changes: Vec<Changes<'a>>,
    /// Slices of other address types: to be deleted last, even if earlier writes failed.
    pub unsupported: Vec<&'a EndpointSlice>,
    /// Endpoints that were left out, and why. The writes are still valid; the caller should requeue the Service.
    pub problems: Vec<Problem>,
    /// Events to emit on the Service, even if writes fail.
    pub events: Vec<Event>,
    /// Hints of the Service to store in the topology cache.
    pub hints: ServiceHints,
}

impl Outcome<'_> {
    /// Whether there is nothing to write.
    pub fn is_settled(&self) -> bool {
        let settled = |changes: &Changes<'_>| {
            changes.creates.is_empty() && changes.updates.is_empty() && changes.deletes.is_empty()
        };
        self.unsupported.is_empty() && self.changes.iter().all(settled)
    }
}

/// Returns the writes that bring the slices of a Service up to date.
pub fn reconcile<'a, S: Source>(input: &Input<'a, S>) -> Outcome<'a> {
    let types = input.source.address_types(input.service);
    let mut existing: BTreeMap<AddressType, Vec<&EndpointSlice>> =
        types.iter().map(|&address_type| (address_type, Vec::new())).collect();
    let mut outcome = Outcome {
        hints: input.topology.map(|topology| topology.service.clone()).unwrap_or_default(),
        ..Outcome::default()
    };
    for &slice in input.existing {
        let known = AddressType::ALL.into_iter().find(|known| known.as_str() == slice.address_type);
        if let Some(slices) = known.and_then(|known| existing.get_mut(&known)) {
            slices.push(slice);
        } else {
            known.map(|known| outcome.hints.forget(known));
            outcome.unsupported.push(slice);
        }
    }
    let labels = labels::desired(input.service, input.config);
    for address_type in types {
        let Input { service, config, .. } = *input;
        let template = Template { service, config, labels: &labels, address_type };
        let slices = existing.remove(&address_type).unwrap_or_default();
        let changes = one_type(input, &template, &slices, &mut outcome);
        outcome.changes.push(changes);
    }
    outcome.problems.sort();
    outcome.problems.dedup();
    outcome
}

fn one_type<'a, S: Source>(
    input: &Input<'a, S>,
    template: &Template<'_>,
    existing: &[&'a EndpointSlice],
    outcome: &mut Outcome<'a>,
) -> Changes<'a> {
    let mut measures = Measures::default();
    let mut packed = pack_groups(input, template, existing, outcome, &mut measures);
    if input.config.placeholder {
        let before = packed.creates.len();
        placeholder::ensure(template, existing.len(), &mut packed);
        let kept = packed.unchanged.len() == 1 && existing.len() == 1 && measures.groups.is_empty();
        if packed.creates.len() > before || kept {
            measures.groups.push(GroupSize { endpoints: 0, slices: 1 });
        }
    }
    if input.config.hints != Hints::None {
        let (topology, hints) = (input.topology, &mut outcome.hints);
        let result = hints::apply(template, topology, hints, &mut packed);
        outcome.events.extend(result.event);
        measures.topology = result.topology;
        measures.traffic_distribution = result.traffic_distribution;
    }
    finish(input, template.address_type, packed, measures)
}

fn pack_groups<'a, S: Source>(
    input: &Input<'a, S>,
    template: &Template<'_>,
    existing: &[&'a EndpointSlice],
    outcome: &mut Outcome<'a>,
    measures: &mut Measures,
) -> Packed<'a> {
    let Input { service, source, config, .. } = *input;
    let (owned, foreign): (Vec<_>, Vec<_>) =
        existing.iter().copied().partition(|slice| ownership::owns(service, slice));
    let mut packed = Packed { deletes: foreign, ..Packed::default() };
    let expected = owned.iter().map(|slice| slice.endpoints.len()).sum();
    let problems = &mut outcome.problems;
    let desired =
        groups::desired(service, source, template.address_type, config, expected, problems);
    let (ports, endpoints): (Vec<_>, Vec<_>) =
        desired.into_iter().map(|group| (group.ports, group.endpoints)).unzip();
    let mut by_ports = groups::existing(owned.into_iter());
    for (ports, endpoints) in ports.iter().zip(endpoints) {
        let slices = by_ports.remove(&PortKey::of(Some(ports))).unwrap_or_default();
        let one = packing::pack(template, ports, &slices, endpoints);
        measures.groups.push(GroupSize {
            endpoints: one.endpoints(),
            slices: slices.len() + one.creates.len() - one.deletes.len(),
        });
        packed.extend(one);
    }
    packed.deletes.extend(by_ports.into_values().flatten());
    measures.added = packed.added;
    measures.removed = packed.removed;
    packed
}

/// Recycles slices, drops updates without effect and sets the trigger time of the others.
fn finish<'a, S>(
    input: &Input<'a, S>,
    address_type: AddressType,
    packed: Packed<'a>,
    mut measures: Measures,
) -> Changes<'a> {
    let Packed { mut creates, mut updates, mut deletes, .. } = packed;
    recycling::recycle(input.service, &mut creates, &mut updates, &mut deletes);
    updates.retain(|update| !update.is_needless());
    measures.changed = creates.len() + updates.len() + deletes.len();
    if input.service.metadata.deletion_timestamp.is_some() {
        // A Service being deleted gets no new slices; its existing ones are still updated.
        creates.clear();
    }
    let written = creates.iter_mut().chain(updates.iter_mut().map(|update| &mut update.slice));
    written.for_each(|slice| trigger_time::annotate(slice, input.trigger_time));
    Changes { address_type, creates, updates, deletes, measures }
}
