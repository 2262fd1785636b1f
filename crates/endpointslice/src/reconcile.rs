//! One Service: from what it selects and which slices it has to the writes that are missing.

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
use crate::slice::Mould;
use crate::trigger_time;
use crate::{AddressType, Config, Event, Hints, PortKey, Problem, Source};

/// What a reconcile looks at.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a, S> {
    /// The Service.
    pub service: &'a Service,
    /// The endpoints behind it.
    pub source: &'a S,
    /// Its slices of this manager, without those being deleted.
    pub existing: &'a [&'a EndpointSlice],
    /// When the change happened that led here; see [`crate::TriggerTimes`].
    pub trigger_time: Option<Timestamp>,
    /// How the cluster's capacity is spread; none if the topology annotation is not served.
    pub topology: Option<Overview<'a>>,
    /// Settings.
    pub config: &'a Config,
}

/// What a reconcile comes to.
#[derive(Clone, Debug, Default)]
pub struct Outcome<'a> {
    /// Writes per address type. Independent of each other; within one the first failure ends it.
    pub changes: Vec<Changes<'a>>,
    /// Slices of other address types: to delete last, whatever happened before.
    pub unsupported: Vec<&'a EndpointSlice>,
    /// What was left out. The writes stand; the Service should be looked at again later.
    pub problems: Vec<Problem>,
    /// To be emitted on the Service, also if writes failed.
    pub events: Vec<Event>,
    /// What the topology cache should remember of the Service from now on.
    pub hints: ServiceHints,
}

impl Outcome<'_> {
    /// Whether nothing is to be written.
    pub fn is_settled(&self) -> bool {
        let settled = |changes: &Changes<'_>| {
            changes.creates.is_empty() && changes.updates.is_empty() && changes.deletes.is_empty()
        };
        self.unsupported.is_empty() && self.changes.iter().all(settled)
    }
}

/// The writes that are missing.
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
    let labels = labels::proper(input.service, input.config);
    for address_type in types {
        let Input { service, config, .. } = *input;
        let mould = Mould { service, config, labels: &labels, address_type };
        let slices = existing.remove(&address_type).unwrap_or_default();
        let changes = one_type(input, &mould, &slices, &mut outcome);
        outcome.changes.push(changes);
    }
    outcome.problems.sort();
    outcome.problems.dedup();
    outcome
}

fn one_type<'a, S: Source>(
    input: &Input<'a, S>,
    mould: &Mould<'_>,
    existing: &[&'a EndpointSlice],
    outcome: &mut Outcome<'a>,
) -> Changes<'a> {
    let mut measures = Measures::default();
    let mut packed = pack_groups(input, mould, existing, outcome, &mut measures);
    if input.config.placeholder {
        let before = packed.creates.len();
        placeholder::ensure(mould, existing.len(), &mut packed);
        let kept = packed.unchanged.len() == 1 && existing.len() == 1 && measures.groups.is_empty();
        if packed.creates.len() > before || kept {
            measures.groups.push(GroupSize { endpoints: 0, slices: 1 });
        }
    }
    if input.config.hints != Hints::None {
        let (topology, hints) = (input.topology, &mut outcome.hints);
        let result = hints::apply(mould, topology, hints, &mut packed);
        outcome.events.extend(result.event);
        measures.topology = result.topology;
        measures.traffic_distribution = result.traffic_distribution;
    }
    finish(input, mould.address_type, packed, measures)
}

fn pack_groups<'a, S: Source>(
    input: &Input<'a, S>,
    mould: &Mould<'_>,
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
    let wanted = groups::wanted(service, source, mould.address_type, config, expected, problems);
    let (ports, endpoints): (Vec<_>, Vec<_>) =
        wanted.into_iter().map(|group| (group.ports, group.endpoints)).unzip();
    let mut by_ports = groups::existing(owned.into_iter());
    for (ports, endpoints) in ports.iter().zip(endpoints) {
        let slices = by_ports.remove(&PortKey::of(Some(ports))).unwrap_or_default();
        let one = packing::pack(mould, ports, &slices, endpoints);
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

/// Recycles, drops what changes nothing, and dates what is left.
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
        // A Service being deleted gets no new slices; those it has are still kept right.
        creates.clear();
    }
    let written = creates.iter_mut().chain(updates.iter_mut().map(|update| &mut update.slice));
    written.for_each(|slice| trigger_time::annotate(slice, input.trigger_time));
    Changes { address_type, creates, updates, deletes, measures }
}
