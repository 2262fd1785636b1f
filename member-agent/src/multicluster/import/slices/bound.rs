//! What the slices of an import are made for.

use fleet_accumulator::Uid;
use fleet_api::multicluster::IpFamily;
use fleet_api::{AddressType, ObjectName, labels};
use fleet_traffic::HandoverSteps;
use jiff::Timestamp;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::multicluster::import::state::{Import, ServiceState};
use crate::multicluster::import::target::Target;
use crate::multicluster::import::trust::{Held, Trust};
use crate::traffic::LocalWriter;

/// What the slices of an import are found by.
#[derive(Clone, Copy, Debug)]
pub(in crate::multicluster::import) enum Binding<'a> {
    /// Proxies send the traffic of this Service to them.
    Derived(&'a ObjectName),
    /// DNS answers with their addresses.
    Headless,
}

/// What slices are made for.
#[derive(Clone, Copy, Debug)]
pub(in crate::multicluster::import) struct Bound<'a> {
    pub(in crate::multicluster::import) import: &'a Import,
    pub(in crate::multicluster::import) target: &'a Target,
    pub(in crate::multicluster::import) binding: Binding<'a>,
    /// Slices of other families have no addresses that clients could use.
    pub(in crate::multicluster::import) families: &'a [IpFamily],
    /// Who writes own endpoints, for reports.
    pub(in crate::multicluster::import) writer: LocalWriter,
    /// What is done for that.
    pub(in crate::multicluster::import) steps: HandoverSteps,
}

impl Bound<'_> {
    /// Whether clients could use addresses of this type.
    pub(super) fn takes(&self, address_type: &AddressType) -> bool {
        IpFamily::parse(address_type.as_str()).is_some_and(|it| self.families.contains(&it))
    }

    /// How far the hub's word counts for the slices: not at all where it lacks too much at once.
    pub(super) fn trust(&self, state: &ServiceState<'_>) -> Trust {
        if self.target.held == Some(Held::Brake) { Trust::Unknown } else { state.trust() }
    }

    /// The label by which slices are found, `own` ones or others. Proxies overlook those of headless Services: they drop what gets
    /// that label, and would keep what merely loses the other one.
    pub(super) fn label(&self, own: bool) -> (&'static str, String) {
        match self.binding {
            Binding::Derived(_) if own && self.steps.records => (labels::HEADLESS, String::new()),
            Binding::Derived(name) => (labels::SERVICE_NAME, name.name.to_string()),
            Binding::Headless => (labels::HEADLESS, String::new()),
        }
    }
}

/// A slice as it should be.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) slice: EndpointSlice,
    /// As its exporter has it, if policies direct the traffic.
    pub(super) source: Option<EndpointSlice>,
    /// The cluster whose endpoints these are.
    pub(super) cluster: String,
    pub(super) generation: i64,
    /// The exported slice, and since when it has this generation; `None` for own endpoints, or if that is not known.
    pub(super) exported: Option<(Uid, Timestamp)>,
    pub(super) trace: Option<fleet_api::TraceContext>,
}
