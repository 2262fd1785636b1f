//! In which member an endpoint runs: one whose Pod is on a virtual node runs in the cluster of the executor
//! (docs/design/traffic.md#virtual-nodes).

use std::collections::BTreeSet;

use fleet_accumulator::SourceSet;
use fleet_api::{Endpoint, ObjectName, names};
use fleet_model::objects::EndpointSlice;
use fleet_virtual_node::names::{executor_of, node};
use k8s_openapi::api::discovery::v1 as discovery;

use crate::settings::Settings;
use crate::snapshot::MemberSnapshot;

/// The executors that have a virtual node in this cluster; none until that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Executing<'a>(Option<BTreeSet<&'a str>>);

impl<'a> Executing<'a> {
    /// Those that a snapshot shows. A Node that was deleted by hand is made again, and until then the hub has what it is made of.
    pub(crate) fn of(settings: &Settings, snapshot: &'a MemberSnapshot) -> Self {
        if !settings.virtual_nodes.origin {
            return Self(Some(BTreeSet::new()));
        }
        if !snapshot.virtual_node_objects.bootstrapped() {
            return Self(None);
        }
        let here = snapshot.virtual_node_objects.iter();
        let here = here.filter_map(|node| executor_of(&node.name.name));
        let granted = snapshot.virtual_nodes.iter().map(|node| node.object.spec.executor.as_str());
        Self(Some(here.chain(granted).collect()))
    }

    /// What it depends on.
    pub(crate) fn sources(settings: &Settings) -> SourceSet {
        if settings.virtual_nodes.origin {
            [MemberSnapshot::virtual_node_objects(), MemberSnapshot::virtual_nodes()].into()
        } else {
            SourceSet::EMPTY
        }
    }

    /// Whether it is known.
    pub(crate) fn is_known(&self) -> bool {
        self.0.is_some()
    }

    /// The executor that one of this cluster's Nodes stands for. A Node that only has such a name is none.
    pub(crate) fn of_node<'b>(&self, node: Option<&'b str>) -> Option<&'b str> {
        let executor = executor_of(node?)?;
        self.0.as_ref()?.contains(executor).then_some(executor)
    }

    /// Names the executors of a slice's endpoints, which are those that are ready, and then those that drain.
    pub(crate) fn name<'b>(
        &self,
        slice: &EndpointSlice,
        endpoints: impl Iterator<Item = &'b mut Endpoint>,
    ) {
        for (endpoint, node) in endpoints.zip(slice.nodes()) {
            endpoint.executor = self.of_node(node).map(Into::into);
        }
    }

    /// Endpoints of this cluster that are neither ready nor terminating, and run in it.
    pub(crate) fn unready_here(&self, slice: &EndpointSlice) -> usize {
        let elsewhere = slice.nodes_of_unready().filter(|node| self.of_node(*node).is_some());
        slice.unready() - elsewhere.count()
    }

    /// Whether any endpoint of a slice of this cluster, ready or not, runs elsewhere.
    pub(crate) fn is_elsewhere(&self, slice: &EndpointSlice) -> bool {
        slice.nodes().chain(slice.nodes_of_unready()).any(|node| self.of_node(node).is_some())
    }
}

/// The Services of this cluster of which endpoints run in one of these others.
pub(crate) fn services_running_in(
    clusters: &BTreeSet<String>,
    snapshot: &MemberSnapshot,
) -> impl Iterator<Item = ObjectName> {
    // Without, no slice has to be looked at.
    let has_virtual_nodes =
        !snapshot.virtual_node_objects.is_empty() || !snapshot.virtual_nodes.is_empty();
    let slices = snapshot.endpoint_slices.iter().filter(move |_| has_virtual_nodes);
    let running = slices.filter(|slice| {
        let mut executors = slice.nodes().flatten().filter_map(executor_of);
        executors.any(|executor| clusters.contains(executor))
    });
    running.filter_map(|slice| slice.backs(&slice.name.namespace))
}

/// The executor that an imported endpoint names. Nodes of other clusters do not cross: what is there was made by [`node_of`].
pub(crate) fn of_imported(endpoint: &discovery::Endpoint) -> Option<&str> {
    executor_of(endpoint.node_name.as_deref()?)
}

/// The node by which an imported endpoint names its executor. An exporter can write any.
pub(crate) fn node_of(endpoint: &Endpoint) -> Option<String> {
    let executor = endpoint.executor.as_deref();
    executor.filter(|name| names::is_dns1123_label(name)).map(node)
}
