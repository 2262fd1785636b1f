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
    /// The hub has accepted this cluster's export.
    pub accepted: bool,
    /// The first rank has no other exporter.
    pub alone_in_first_rank: bool,
    /// The exported Service has a selector.
    pub has_selector: bool,
    /// The exported Service has exactly the ports of the derived Service.
    pub same_ports: bool,
    /// A drain or a weight shapes own endpoints, which slices that are not ours cannot show.
    pub shaped: bool,
}

/// Why a Service stays with [`LocalEndpoints::Agent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotEligible {
    /// This cluster is no accepted exporter.
    NotAccepted,
    /// Other clusters share the first rank.
    SharedRank,
    /// The Service has no selector.
    NoSelector,
    /// The ports differ.
    OtherPorts,
    /// A drain or a weight concerns own endpoints.
    Shaped,
}

impl LocalEndpoints {
    /// The mode in force, with the first reason if it is not the requested one.
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
            (!self.accepted, NotEligible::NotAccepted),
            (!self.alone_in_first_rank, NotEligible::SharedRank),
            (!self.has_selector, NotEligible::NoSelector),
            (!self.same_ports, NotEligible::OtherPorts),
            (self.shaped, NotEligible::Shaped),
        ];
        checks.into_iter().find_map(|(fails, reason)| fails.then_some(reason))
    }
}
