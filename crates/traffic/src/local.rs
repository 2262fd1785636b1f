/// What writes the own endpoints of a Service into the slices of its derived Service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LocalEndpoints {
    /// The member agent.
    #[default]
    Agent,
    /// kube-controller-manager, through the selector of the derived Service: it needs no agent to fail over.
    Kubernetes,
}

/// What decides whether kube-controller-manager can write them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts, one reason each")]
pub struct LocalFacts {
    /// The administrators of this cluster let derived Services have a selector.
    pub allowed: bool,
    /// kube-controller-manager writes the EndpointSlices of this cluster.
    pub served: bool,
    /// The hub has accepted this cluster's export.
    pub accepted: bool,
    /// The first rank has no other exporter.
    pub alone_in_first_rank: bool,
    /// The exported Service has a selector.
    pub has_selector: bool,
    /// The exported Service has exactly the ports of the derived Service.
    pub same_ports: bool,
    /// All endpoints of the exported Service come from its selector.
    pub selected_only: bool,
    /// None of them runs in another cluster, on a virtual node: kube-controller-manager takes those for own ones.
    pub here_only: bool,
    /// A drain or a weight shapes own endpoints, which slices that are not ours cannot show.
    pub shaped: bool,
}

/// Why a Service stays with [`LocalEndpoints::Agent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotEligible {
    /// It is imported by the API of the fleet, whose derived Services have no selector.
    FleetApi,
    /// The administrators of this cluster do not allow it.
    NotAllowed,
    /// kube-controller-manager does not write EndpointSlices here.
    NotServed,
    /// This cluster is no accepted exporter.
    NotAccepted,
    /// Other clusters share the first rank.
    SharedRank,
    /// The Service has no selector.
    NoSelector,
    /// The ports differ.
    OtherPorts,
    /// Some endpoints are not those of Pods that the selector selects.
    OtherEndpoints,
    /// Some run in other clusters, on virtual nodes.
    VirtualNodes,
    /// A drain or a weight concerns own endpoints.
    Shaped,
}

impl NotEligible {
    /// The reason in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FleetApi => "FleetApi",
            Self::NotAllowed => "NotAllowed",
            Self::NotServed => "NotServed",
            Self::NotAccepted => "NotAccepted",
            Self::SharedRank => "SharedRank",
            Self::NoSelector => "NoSelector",
            Self::OtherPorts => "OtherPorts",
            Self::OtherEndpoints => "OtherEndpoints",
            Self::VirtualNodes => "VirtualNodes",
            Self::Shaped => "Shaped",
        }
    }
}

impl LocalEndpoints {
    /// The mode to aim at, with the first reason if it is not the requested one.
    pub fn in_force(self, facts: LocalFacts) -> (Self, Option<NotEligible>) {
        match self {
            Self::Agent => (Self::Agent, None),
            Self::Kubernetes => match facts.refusal() {
                None => (Self::Kubernetes, None),
                refusal => (Self::Agent, refusal),
            },
        }
    }
}

impl LocalFacts {
    fn refusal(self) -> Option<NotEligible> {
        let checks = [
            (!self.allowed, NotEligible::NotAllowed),
            (!self.served, NotEligible::NotServed),
            (!self.accepted, NotEligible::NotAccepted),
            (!self.alone_in_first_rank, NotEligible::SharedRank),
            (!self.has_selector, NotEligible::NoSelector),
            (!self.same_ports, NotEligible::OtherPorts),
            (!self.selected_only, NotEligible::OtherEndpoints),
            (!self.here_only, NotEligible::VirtualNodes),
            (self.shaped, NotEligible::Shaped),
        ];
        checks.into_iter().find_map(|(fails, reason)| fails.then_some(reason))
    }
}
