use fleet_traffic::NotEligible;

/// Why the mode in force is not the one asked for, although nothing forbids it.
pub(super) const PENDING: &str = "Pending";

/// Why a policy is not in force as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// The Service has no address.
    Headless,
    /// Clients use endpoints of their own node alone.
    InternalTrafficPolicyLocal,
    /// The cluster has more zones than endpoints can name.
    ManyZones,
    /// kube-controller-manager cannot write own endpoints.
    NotEligible(NotEligible),
    /// It is about to write them.
    Pending,
    /// Weights are not applied to so many endpoints.
    TooManyEndpoints,
    /// What the hub has decided is not known.
    Held,
}

impl Limit {
    /// All reasons, as written on the wire.
    pub(crate) const REASONS: [&str; 7] = [
        "Headless",
        "InternalTrafficPolicyLocal",
        "ManyZones",
        "NotEligible",
        PENDING,
        "TooManyEndpoints",
        "Held",
    ];

    /// The reason as written on the wire.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Headless => "Headless",
            Self::InternalTrafficPolicyLocal => "InternalTrafficPolicyLocal",
            Self::ManyZones => "ManyZones",
            Self::NotEligible(_) => "NotEligible",
            Self::Pending => PENDING,
            Self::TooManyEndpoints => "TooManyEndpoints",
            Self::Held => "Held",
        }
    }

    /// What that means to the user.
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Headless => "DNS answers with all endpoints of a headless Service, in no order",
            Self::InternalTrafficPolicyLocal => {
                "internalTrafficPolicy Local leads to endpoints of the client's own node alone"
            }
            Self::ManyZones => {
                "this cluster has more than 8 zones, so endpoints of lower ranks show as terminating"
            }
            Self::NotEligible(why) => not_eligible(why),
            Self::Pending => {
                "own endpoints are written by the member agent until kube-controller-manager has written them all, through the \
                 selector of the derived Service"
            }
            Self::TooManyEndpoints => "weights are not applied to more than 5000 endpoints",
            Self::Held => "the hub has not answered yet, so that endpoints stay in their order",
        }
    }
}

/// Why the member agent writes own endpoints, although a policy asks for another mode.
fn not_eligible(why: NotEligible) -> &'static str {
    match why {
        NotEligible::FleetApi => {
            "own endpoints are written by the member agent: derived Services of this API have no selector"
        }
        NotEligible::NotAllowed => {
            "own endpoints are written by the member agent: administrators of this cluster let no derived Service have a selector"
        }
        NotEligible::NotServed => {
            "own endpoints are written by the member agent: kube-controller-manager writes no EndpointSlices here"
        }
        NotEligible::NotAccepted => {
            "own endpoints are written by the member agent: this cluster is no accepted exporter of the Service"
        }
        NotEligible::SharedRank => {
            "own endpoints are written by the member agent: this cluster is not alone in the first rank"
        }
        NotEligible::NoSelector => {
            "own endpoints are written by the member agent: the exported Service has no selector"
        }
        NotEligible::OtherPorts => {
            "own endpoints are written by the member agent: the exported Service has other ports than the import"
        }
        NotEligible::OtherEndpoints => {
            "own endpoints are written by the member agent: not all come from the selector of the exported Service"
        }
        NotEligible::VirtualNodes => {
            "own endpoints are written by the member agent: some run in other clusters, on virtual nodes"
        }
        NotEligible::Shaped => {
            "own endpoints are written by the member agent: a drain or a weight concerns them"
        }
    }
}
