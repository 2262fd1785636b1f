//! Who writes own endpoints of an import: this agent, or kube-controller-manager, through a selector of the derived Service
//! (docs/design/traffic.md#own-endpoints).

use std::collections::BTreeSet;

use fleet_accumulator::Object;
use fleet_api::multicluster::IpFamily;
use fleet_api::{ObjectName, annotations, labels};
use fleet_endpointslice::MANAGER;
use fleet_model::objects::{EndpointSlice, Service, SliceIndex};
use fleet_traffic::{Handover, HandoverSteps, LocalEndpoints, LocalFacts, NotEligible};
use k8s_openapi::api::discovery::v1 as discovery;

use super::derived;
use super::selector::Selector;
use super::slices::{has_hints, own};
use super::source;
use super::state::ServiceState;
use super::target::Target;
use crate::intent::{self, StandardDecision};
use crate::own_weight;
use crate::settings::Mode;
use crate::slicing;
use crate::traffic::{Ground, LocalWriter};

/// Who writes own endpoints, and what is to be done for it.
#[derive(Debug, Default)]
pub(super) struct Local<'a> {
    /// For reports.
    pub(super) writer: LocalWriter,
    /// What is next.
    pub(super) steps: HandoverSteps,
    /// The selector of the derived Service.
    pub(super) selector: Selector<'a>,
    /// Slices of Kubernetes that back the derived Service.
    kubernetes: Vec<&'a Object<EndpointSlice>>,
}

impl<'a> Local<'a> {
    /// Where a derived Service is there.
    pub(super) fn of(
        state: &ServiceState<'a>,
        target: &Target,
        derived: &Object<Service>,
        families: &[IpFamily],
    ) -> Self {
        let ours = Ours { state, target, derived, families };
        let exported = own::exported(state);
        let is_selected = is_selected(derived);
        let (asked, refusal) = ours.asked(exported, is_selected);
        let mode = if refusal.is_some() { LocalEndpoints::Agent } else { asked };
        let kubernetes = of_kubernetes(state, &derived.name);
        let steps = ours.handover(&kubernetes, exported, mode).steps(mode);
        let in_force =
            if steps.records { LocalEndpoints::Kubernetes } else { LocalEndpoints::Agent };
        let selector = match exported {
            _ if !steps.selects => Selector::None,
            Some(service) if mode == LocalEndpoints::Kubernetes => Selector::Of(service),
            _ => Selector::Kept,
        };
        // A selector that others have set has to go first.
        let sweeps = steps.sweeps && derived.selector.is_empty();
        let steps = HandoverSteps { sweeps, ..steps };
        Self { writer: LocalWriter { asked, in_force, refusal }, steps, selector, kubernetes }
    }

    /// Where none is, or one that is about to go.
    pub(super) fn without(state: &ServiceState<'a>, derived: &ObjectName) -> Self {
        let asked = match &state.ground {
            Some(ground) if ground.is_known() => ground.rules(state.service).local,
            _ => LocalEndpoints::Agent,
        };
        let plain = !of_kubernetes(state, derived).is_empty();
        let writer = LocalWriter { asked, ..LocalWriter::default() };
        let steps = HandoverSteps { plain, ..HandoverSteps::default() };
        Self { writer, steps, ..Self::default() }
    }

    /// Slices that Kubernetes has left behind.
    pub(super) fn left(&self) -> impl Iterator<Item = &'a Object<EndpointSlice>> {
        self.kubernetes.iter().copied().filter(|_| self.steps.sweeps)
    }
}

/// Whether a derived Service has a selector for its own endpoints.
fn is_selected(derived: &Service) -> bool {
    !derived.selector.is_empty() && derived.meta.annotation(annotations::LOCAL_ENDPOINTS).is_some()
}

/// Slices of kube-controller-manager that back a Service.
fn of_kubernetes<'a>(
    state: &ServiceState<'a>,
    service: &ObjectName,
) -> Vec<&'a Object<EndpointSlice>> {
    let slices = state.snapshot.endpoint_slices.by(&SliceIndex::Backs(service.clone()));
    let ours = |slice: &&Object<EndpointSlice>| slicing::manager(slice) == Some(MANAGER);
    slices.filter(ours).filter(|slice| !slice.meta.is_terminating()).collect()
}

/// An import with a derived Service.
struct Ours<'a, 'b> {
    state: &'b ServiceState<'a>,
    target: &'b Target,
    derived: &'b Object<Service>,
    families: &'b [IpFamily],
}

impl Ours<'_, '_> {
    /// Who is asked for, and why that cannot be. While it is not known who is, nothing changes that this cluster alone does not
    /// rule out.
    fn asked(
        &self,
        exported: Option<&Object<Service>>,
        is_selected: bool,
    ) -> (LocalEndpoints, Option<NotEligible>) {
        let Some(ground) = &self.state.ground else { return (LocalEndpoints::Agent, None) };
        let is_known = ground.is_known();
        let present = if is_selected { LocalEndpoints::Kubernetes } else { LocalEndpoints::Agent };
        let asked = if is_known { ground.rules(self.state.service).local } else { present };
        if asked == LocalEndpoints::Agent {
            return (asked, None);
        }
        let facts = self.facts(ground, exported, is_selected);
        let unknown =
            LocalFacts { allowed: true, alone_in_first_rank: true, shaped: false, ..facts };
        let (_, refusal) = asked.in_force(if is_known { facts } else { unknown });
        (asked, refusal)
    }

    fn facts(
        &self,
        ground: &Ground<'_>,
        exported: Option<&Object<Service>>,
        is_selected: bool,
    ) -> LocalFacts {
        let Self { state, target, .. } = self;
        let decision = || intent::standard_decision(state.settings, state.service, state.snapshot);
        let rules = ground.rules(state.service);
        let of = |cluster: &str| ground.exporter(&rules, state.service, cluster, false).0;
        let own = of(state.cluster());
        let imported = state.imported.iter().filter_map(|slice| source::cluster(&slice.slice));
        let others: BTreeSet<&str> =
            target.clusters.iter().map(String::as_str).chain(imported).collect();
        let mut others = others.into_iter().filter(|cluster| *cluster != state.cluster());
        let precedes = |cluster: &str| of(cluster).rank.is_some_and(|rank| Some(rank) <= own.rank);
        let ports = &target.spec.ports;
        LocalFacts {
            allowed: state.settings.traffic.derived_selectors,
            served: state.settings.endpointslices != Mode::All,
            accepted: exported.is_some()
                && (is_selected || decision() == StandardDecision::Accepted),
            alone_in_first_rank: own.rank.is_some() && !others.any(precedes),
            has_selector: exported.is_some_and(|service| slicing::is_served(service)),
            same_ports: exported.is_some_and(|service| service.ports.len() == ports.len())
                && ports.iter().all(|port| own::exposes(state, port)),
            selected_only: own::slices(state)
                .filter(|slice| slicing::manager(slice) != Some(MANAGER))
                .all(|slice| is_empty(slice)),
            here_only: !own::slices(state).any(|slice| ground.executing().is_elsewhere(slice)),
            shaped: own.last_resort_percent > 0
                || own.removed
                || own.weight == 0
                || own_weight::of(state.settings, state.snapshot, state.service) == Some(0),
        }
    }

    /// How far the change is.
    fn handover(
        &self,
        kubernetes: &[&Object<EndpointSlice>],
        exported: Option<&Object<Service>>,
        mode: LocalEndpoints,
    ) -> Handover {
        let state = self.state;
        let selected = is_selected(self.derived);
        let slices = || own::slices(state).filter(|slice| self.takes(slice));
        let has_family = |slice: &Object<EndpointSlice>| {
            kubernetes.iter().any(|there| there.address_type == slice.address_type)
        };
        let written = !kubernetes.is_empty() && slices().all(has_family);
        let bound = |slice: &Object<EndpointSlice>| {
            let name = own::name(state, slice);
            let there = name.and_then(|name| state.imported_as(&name));
            there.is_some_and(|there| self.is_bound(&there.slice))
        };
        // Where another selector or port is refused, Kubernetes goes on with other Pods.
        let follows =
            selected && exported.is_some_and(|it| derived::follows(self.derived, self.target, it));
        let recorded = follows && self.is_recorded();
        // What costs as much as there are endpoints is looked at where it matters.
        let starts = mode == LocalEndpoints::Kubernetes && !selected;
        let ends = mode == LocalEndpoints::Agent && (selected || !kubernetes.is_empty());
        Handover {
            exported: exported.is_some(),
            selected,
            hinted: starts && self.is_hinted(),
            written,
            lingers: !kubernetes.is_empty(),
            covered: follows && written && !recorded && self.is_covered(kubernetes),
            recorded,
            bound: ends && slices().all(bound),
        }
    }

    fn takes(&self, slice: &EndpointSlice) -> bool {
        let family = IpFamily::parse(slice.address_type.as_str());
        family.is_some_and(|family| self.families.contains(&family))
    }

    fn is_bound(&self, slice: &discovery::EndpointSlice) -> bool {
        let all = slice.metadata.labels.as_ref();
        let backs = all.and_then(|all| all.get(labels::SERVICE_NAME));
        backs.is_some_and(|name| **name == *self.derived.name.name)
    }

    /// Whether own slices are there and none takes traffic.
    fn is_recorded(&self) -> bool {
        let imported = self.state.imported.iter();
        let mut own = imported
            .filter(|slice| source::cluster(&slice.slice) == Some(self.state.cluster()))
            .peekable();
        own.peek().is_some() && own.all(|slice| !self.is_bound(&slice.slice))
    }

    /// Whether a slice of ours names zones.
    fn is_hinted(&self) -> bool {
        self.state.imported.iter().any(|slice| has_hints(&slice.slice))
    }

    /// Whether Kubernetes has written all that is ready, with the ports that it has.
    fn is_covered(&self, kubernetes: &[&Object<EndpointSlice>]) -> bool {
        let there: BTreeSet<_> = kubernetes
            .iter()
            .flat_map(|slice| own::offered(slice, |name| Some(name.to_owned())))
            .collect();
        let names = own::names_here(&self.target.spec.ports);
        let name = |name: &str| names.get(name).cloned();
        own::slices(self.state)
            .filter(|slice| self.takes(slice))
            .flat_map(|slice| own::offered(slice, name))
            .all(|offered| there.contains(&offered))
    }
}

/// Whether a slice has no endpoint that is or may become ready.
fn is_empty(slice: &EndpointSlice) -> bool {
    slice.ready.len() + slice.draining.len() + slice.unready() == 0
}
