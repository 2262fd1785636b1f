//! Imported slices whose endpoints are where policies, drains and verdicts put them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fleet_accumulator::Object;
use fleet_api::{
    Endpoint, EndpointPort, ExportedSliceSpec, ObjectName, ServiceImportStatus, annotations, labels,
};
use fleet_model::objects::{
    EndpointSlice, EndpointSliceImport, ManagedSlice, SliceIndex, imported_endpoints,
};
use fleet_model::steps::{LOCAL, to_json};
use fleet_model::{ports, reference, weight};
use fleet_plan::{Account, Step, StepId, Trace};
use k8s_openapi::api::discovery::v1 as discovery;
use serde_json::json;

use super::binding::Bound;
use super::finalizer::{delete, guard};
use super::held;
use super::own;
use super::skipped::{report, skipped};
use super::state::ServiceState;
use super::{content, latency, system_namespace};
use crate::executing::{self, Executing};
use crate::measurement::Plan;
use crate::reserved::Reservations;
use crate::sanitize::{Sanitized, sanitize};
use crate::slicing;
use crate::traffic::{
    Directed, Distribution, Draft, Exporter, Ground, Kept, KeptSlice, LocalWriter, Offer, Outlook,
    Rules, Subject, is_shape_only, loses, part_kept, same_endpoints, weight_mark, weight_of,
    weights,
};

/// What slices are made of.
pub(super) struct Set<'a, 'b> {
    /// Which addresses are reserved here.
    pub(super) reserved: &'b Reservations<'a>,
    /// Copies that are not being deleted.
    pub(super) staying: &'b [&'a Object<EndpointSliceImport>],
    /// What the hub granted.
    pub(super) granted: Option<&'b ServiceImportStatus>,
}

/// A slice as it should be.
struct Wanted<'a> {
    copy: &'a Object<EndpointSliceImport>,
    name: ObjectName,
    content: Sanitized<'a>,
    current: Option<&'a Object<EndpointSlice>>,
    /// The same with all fields; `None` also for one whose labels a user has changed, so that the other watch lacks it.
    whole: Option<&'a discovery::EndpointSlice>,
    /// As its exporter has it.
    source: discovery::EndpointSlice,
    /// Whether that is what the copy has: endpoints of this cluster itself may be newer.
    is_as_copied: bool,
    /// With its endpoints where they belong.
    slice: discovery::EndpointSlice,
}

impl<'a> Wanted<'a> {
    fn draft(&self) -> Draft<'a> {
        Draft {
            cluster: self.copy.origin().to_owned(),
            source: self.source.clone(),
            current: self.whole,
            // Of a slice whose labels a user has changed it is not known what it has.
            is_same_generation: self.is_as_copied
                && self.whole.is_some()
                && self.generation_here()
                    == Some(self.copy.spec.endpoint_slice_reference.generation),
        }
    }

    /// The generation of the exporter's slice that the slice here was made from.
    fn generation_here(&self) -> Option<i64> {
        self.current.and_then(|current| content::generation(self.copy, current))
    }

    /// Whether the slice here, which shows that its exporter is out of use, shows that of an earlier generation: a process that begins
    /// anew would not see it. One without a mark, as of an older hub agent, has none to follow.
    fn falls_behind(&self) -> bool {
        let generation = self.copy.spec.endpoint_slice_reference.generation;
        self.slice.endpoints.is_empty()
            && !self.source.endpoints.is_empty()
            && self.generation_here().is_some_and(|there| there < generation)
    }
}

/// Brings the slices of the copies that stay up to date. Returns the writes.
pub(super) fn sync<'a>(
    state: &'a ServiceState<'a>,
    ground: &Ground<'_>,
    set: &Set<'a, '_>,
    to: Bound<'_>,
    orphans: &[&Object<EndpointSlice>],
    plan: &mut Plan,
) -> Vec<StepId> {
    if set.staying.iter().any(|copy| is_behind(state, copy)) {
        return Vec::new();
    }
    let contents = own::contents(state, ground.executing(), set.staying);
    let copies = set.staying.iter().copied().zip(&contents);
    let mut wanted: Vec<_> =
        copies.filter_map(|copy| self::wanted(state, (ground, set), copy, to, plan)).collect();
    let following = wanted.iter().map(|wanted| wanted.copy.origin()).collect();
    let kept = self::kept(state, orphans, &wanted);
    let (mut kept, staying) = part_kept(ground, &following, kept);
    let directed = direct(state, ground, set, &mut wanted, (&mut kept, staying));
    let waiting = conclude(directed, state, ground, to, (&wanted, &kept), plan);
    let kept = kept.iter().filter(|kept| !waiting.contains(kept.name()));
    plan.steps.extend(kept.filter_map(KeptSlice::step));
    let writes = wanted.iter().filter_map(|wanted| {
        let waits = waiting.contains(&*wanted.name.name);
        if waits { None } else { write(state, wanted, to, plan) }
    });
    writes.collect()
}

/// What a copy leads to, with this content; `None` if its slice cannot be written now.
fn wanted<'a: 'b, 'b>(
    state: &'a ServiceState<'a>,
    (ground, set): (&Ground<'_>, &Set<'a, '_>),
    (copy, content): (&'a Object<EndpointSliceImport>, &'b own::Content<'a>),
    to: Bound<'_>,
    plan: &mut Plan,
) -> Option<Wanted<'b>> {
    let name = state.in_system(&copy.name.name);
    let current = state.snapshot.endpoint_slices.get(&name);
    // What is this cluster's own is not known from the hub.
    let is_own = copy.origin() == state.identity.cluster;
    if !is_own && held::waits(state, copy, current) {
        return None;
    }
    let (spec, is_as_copied) = (&*content.spec, content.is_as_copied);
    let content = if current.is_some_and(|current| carries(current, spec)) {
        // It was checked when it was imported.
        Sanitized::unchecked(spec)
    } else {
        let verdict = |address| set.reserved.verdict(copy.origin(), address);
        let Some(content) = sanitize(spec, verdict) else {
            plan.events.push(skipped(to.holder, copy, copy.spec.address_type.as_str()));
            plan.steps.extend(current.filter(|slice| slice.is_imported()).and_then(delete));
            return None;
        };
        report(to.holder, copy, (spec, &content), plan);
        content
    };
    let current = match current {
        None if system_namespace::error(state.identity, state.snapshot).is_some() => return None,
        None => None,
        // It blocks its successor, or the name belongs to a slice that was not imported.
        Some(current) if current.meta.is_terminating() || !current.is_imported() => return None,
        // The address type is immutable, so the slice is replaced by another object.
        Some(current) if current.address_type != *content.address_type => {
            plan.steps.extend(delete(current));
            return None;
        }
        Some(current) => Some(current),
    };
    let (mut source, whole) = (source(&content), whole(state, &name));
    if is_own && !ground.executing().is_known() {
        keep_nodes(&mut source, whole);
    }
    let weight = weight::carried(copy.meta.annotation(annotations::WEIGHT));
    let marks = weight_mark(weight).map(|(key, value)| (key.to_owned(), value));
    source.metadata.annotations = Some(marks.into_iter().collect());
    let slice = source.clone();
    Some(Wanted { copy, name, content, current, whole, source, is_as_copied, slice })
}

/// Names the nodes of own endpoints that are named here already: it is not known yet which of them are virtual.
fn keep_nodes(source: &mut discovery::EndpointSlice, whole: Option<&discovery::EndpointSlice>) {
    let here = whole.into_iter().flat_map(|slice| &slice.endpoints);
    let here: BTreeMap<_, _> = here.map(|one| (&one.addresses, &one.node_name)).collect();
    for endpoint in &mut source.endpoints {
        endpoint.node_name = here.get(&endpoint.addresses).and_then(|node| (*node).clone());
    }
}

/// Whether the watch of whole slices is behind that of all slices. Its event requeues the key.
fn is_behind(state: &ServiceState<'_>, copy: &Object<EndpointSliceImport>) -> bool {
    let name = state.in_system(&copy.name.name);
    let current = state.snapshot.endpoint_slices.get(&name);
    let is_watched = |slice: &Object<EndpointSlice>| {
        slice.meta.label(labels::MANAGED_BY) == Some(labels::MANAGED_BY_IMPORT)
    };
    current.is_some_and(is_watched) && whole(state, &name).is_none()
}

fn whole<'a>(state: &ServiceState<'a>, name: &ObjectName) -> Option<&'a discovery::EndpointSlice> {
    state.snapshot.managed_slices.get(name).map(|slice| &slice.slice)
}

/// Whether a slice has the endpoints of a content, wherever they are.
fn carries(current: &EndpointSlice, spec: &ExportedSliceSpec) -> bool {
    let addresses = |ready: &[Endpoint], draining: &[Endpoint]| {
        let all = ready.iter().chain(draining).map(|endpoint| endpoint.addresses.clone());
        let mut all: Vec<_> = all.collect();
        all.sort();
        all
    };
    current.is_imported()
        && current.address_type == spec.address_type
        && ports::same_in_slices(&current.ports, &spec.ports)
        && addresses(&current.ready.to_vec(), &current.draining.to_vec())
            == addresses(&spec.endpoints, &spec.draining_endpoints)
}

fn source(content: &Sanitized<'_>) -> discovery::EndpointSlice {
    let port = |port: &EndpointPort| discovery::EndpointPort {
        name: port.name.clone(),
        port: port.port,
        protocol: port.protocol.clone(),
        app_protocol: port.app_protocol.clone(),
    };
    let mut endpoints = imported_endpoints(&content.ready, &content.draining);
    let exported = content.ready.iter().chain(&*content.draining);
    for (endpoint, exported) in endpoints.iter_mut().zip(exported) {
        endpoint.node_name = executing::node_of(exported);
    }
    discovery::EndpointSlice {
        address_type: content.address_type.as_str().to_owned(),
        endpoints,
        ports: Some(content.ports.iter().map(port).collect()),
        ..discovery::EndpointSlice::default()
    }
}

/// Puts the endpoints of the wanted slices where they belong.
fn direct(
    state: &ServiceState<'_>,
    ground: &Ground<'_>,
    set: &Set<'_, '_>,
    wanted: &mut [Wanted<'_>],
    (moving, kept): (&mut [KeptSlice<'_>], Vec<Kept<'_>>),
) -> Directed {
    let rules = ground.rules(state.service);
    let drafts = wanted.iter().map(Wanted::draft);
    let drafts: Vec<_> = drafts.chain(moving.iter().map(KeptSlice::draft)).collect();
    let (exporters, again_in) = exporters(state, ground, &rules, set, (&drafts, &kept));
    let offer = Offer {
        service: state.service,
        rules: &rules,
        exporters: &exporters,
        drafts,
        kept,
        distribution: Distribution::Any,
        own_zones: BTreeMap::new(),
        headless: false,
        local: LocalWriter::of_fleet(&rules),
        plain: false,
    };
    let subject = Subject::fleet(state.service);
    let (slices, directed) = Directed::of(subject, &offer, ground, None, again_in);
    let mut slices = slices.into_iter();
    for (wanted, slice) in wanted.iter_mut().zip(slices.by_ref()) {
        wanted.slice = slice;
    }
    for (kept, slice) in moving.iter_mut().zip(slices) {
        kept.place(slice);
    }
    directed
}

/// Slices that stay as they are, or that go when others are there.
fn kept<'a>(
    state: &ServiceState<'a>,
    orphans: &[&Object<EndpointSlice>],
    wanted: &[Wanted<'_>],
) -> Vec<(&'a str, &'a Object<ManagedSlice>)> {
    let named = wanted.iter().map(|wanted| &wanted.name);
    let named: BTreeSet<_> = named.chain(orphans.iter().map(|slice| &slice.name)).collect();
    let left = state.imported().filter(|slice| !named.contains(&slice.name));
    let kept = left.filter_map(|slice| {
        let cluster = slice.object.meta.annotation(annotations::ORIGIN_CLUSTER)?;
        Some((cluster, state.snapshot.managed_slices.get(&slice.name)?))
    });
    kept.collect()
}

/// What is in force for each exporter, and when that changes by itself.
fn exporters(
    state: &ServiceState<'_>,
    ground: &Ground<'_>,
    rules: &Rules,
    set: &Set<'_, '_>,
    (drafts, kept): (&[Draft<'_>], &[Kept<'_>]),
) -> (BTreeMap<String, Exporter>, Option<Duration>) {
    let granted = set.granted.into_iter().flat_map(|granted| &granted.clusters);
    let granted = granted.map(|status| status.cluster.clone());
    let copies = set.staying.iter().map(|copy| copy.origin().to_owned());
    let following = drafts.iter().map(|draft| (draft.cluster.as_str(), &draft.source));
    let offered = weights(following.chain(kept.iter().copied()));
    let drafts = drafts.iter().map(|draft| draft.cluster.clone());
    let kept = kept.iter().map(|(cluster, _)| (*cluster).to_owned());
    let clusters: BTreeSet<_> = granted.chain(copies).chain(drafts).chain(kept).collect();
    let mut again_in = None;
    let exporter = |cluster: String| {
        let (mut exporter, again) = ground.exporter(rules, state.service, &cluster, false);
        exporter.weigh(rules, &cluster, offered.get(cluster.as_str()).copied());
        again_in = [again_in, again].into_iter().flatten().min();
        if exporter.own {
            exporter.unready = unready(state, ground.executing());
        }
        (cluster, exporter)
    };
    (clusters.into_iter().map(exporter).collect(), again_in)
}

/// Own endpoints that are neither ready nor terminating and run here: they are not exported.
fn unready(state: &ServiceState<'_>, executing: &Executing<'_>) -> usize {
    let backs = SliceIndex::Backs(state.service.clone());
    let slices = state.snapshot.endpoint_slices.by(&backs);
    let exported = slices.filter(|slice| slicing::is_exportable(state.settings, slice, false));
    exported.map(|slice| executing.unready_here(slice)).sum()
}

/// Names the slices that have to wait, and notes what was decided.
fn conclude(
    directed: Directed,
    state: &ServiceState<'_>,
    ground: &Ground<'_>,
    to: Bound<'_>,
    (wanted, kept): (&[Wanted<'_>], &[KeptSlice<'_>]),
    plan: &mut Plan,
) -> BTreeSet<String> {
    let kept = kept.iter().map(KeptSlice::outlook);
    let slices = wanted.iter().map(|wanted| Outlook {
        name: &wanted.name.name,
        current: wanted.whole,
        source: &wanted.source,
        wanted: &wanted.slice,
        is_current: is_current(state, wanted, to),
    });
    directed.noted(ground, &slices.chain(kept).collect::<Vec<_>>(), plan)
}

fn is_current(state: &ServiceState<'_>, wanted: &Wanted<'_>, to: Bound<'_>) -> bool {
    let Some((current, whole)) = wanted.current.zip(wanted.whole) else { return false };
    content::has_marks(state.service, wanted.copy, current, to.derived)
        && weight_of(whole) == weight_of(&wanted.source)
        && ports::same_in_slices(&current.ports, &wanted.content.ports)
        && same_endpoints(whole, &wanted.slice)
}

fn write(
    state: &ServiceState<'_>,
    wanted: &Wanted<'_>,
    to: Bound<'_>,
    plan: &mut Plan,
) -> Option<StepId> {
    let copy = wanted.copy;
    if is_current(state, wanted, to) && !wanted.falls_behind() {
        // The copy must not be deleted before its imported slice.
        plan.steps.extend(guard(copy));
        return None;
    }
    let current = wanted.current;
    let arrives = wanted.whole.is_none_or(|whole| !is_shape_only(whole, &wanted.source));
    let guarded = guard(copy).map(|step| plan.push(step));
    let imported = latency::imported(copy, current).filter(|_| arrives);
    let step = step(state, wanted, to).stage("import").trace(Trace::Ends(copy.trace_context()));
    let step = step.on_account_of(&Account::from(copy.origin())).after(guarded);
    let there = wanted.generation_here();
    let generation = copy.spec.endpoint_slice_reference.generation;
    let written = reference::write(plan, step, generation, there)?;
    if let Some(imported) = imported {
        plan.measure_after(written, imported);
    }
    Some(written)
}

fn step(state: &ServiceState<'_>, wanted: &Wanted<'_>, to: Bound<'_>) -> Step {
    let mut body = content::body(state.service, wanted.copy, &wanted.content, to.derived);
    body["endpoints"] = to_json(&wanted.slice.endpoints);
    let weight = weight_of(&wanted.source);
    let there = wanted.whole.map_or(weight::USUAL, weight_of);
    // What is there would stay otherwise, or go with other notes.
    if [weight, there] != [weight::USUAL; 2] {
        body["metadata"]["annotations"][annotations::WEIGHT] = json!(weight.to_string());
    }
    match wanted.current {
        None => LOCAL.create::<EndpointSlice>(wanted.name.clone(), body),
        Some(current) => {
            let step = content::replace(current, body);
            let loses = wanted.whole.is_none_or(|whole| loses(whole, &wanted.source));
            if loses { step.urgent() } else { step }
        }
    }
}
