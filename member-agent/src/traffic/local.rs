//! Who writes the slices of own endpoints, for reports.

use fleet_api::traffic::{self as api, LocalEndpointsInForce};
use fleet_traffic::{LocalEndpoints, NotEligible};

use super::limit::{Limit, PENDING};
use super::rules::Rules;

/// Who writes own endpoints of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LocalWriter {
    /// Who is asked for.
    pub(crate) asked: LocalEndpoints,
    /// Whose slices take traffic.
    pub(crate) in_force: LocalEndpoints,
    /// Why it cannot be the one asked for.
    pub(crate) refusal: Option<NotEligible>,
}

impl LocalWriter {
    /// That of an import by the API of the fleet, if a policy asks for another one than there can be.
    pub(crate) fn of_fleet(rules: &Rules) -> Option<Self> {
        let (asked, in_force) = (rules.local, LocalEndpoints::Agent);
        let refusal = Some(NotEligible::FleetApi);
        (asked != in_force).then_some(Self { asked, in_force, refusal })
    }

    /// Why the policy is not in force as it stands.
    pub(super) fn limit(self) -> Option<Limit> {
        match (self.asked, self.refusal) {
            (LocalEndpoints::Agent, _) => None,
            (LocalEndpoints::Kubernetes, Some(why)) => Some(Limit::NotEligible(why)),
            _ if self.in_force == self.asked => None,
            _ => Some(Limit::Pending),
        }
    }

    /// As statuses have it.
    pub(super) fn wire(self) -> LocalEndpointsInForce {
        let pending = (self.asked != self.in_force).then_some(PENDING);
        let reason = self.refusal.map(NotEligible::as_str).or(pending);
        LocalEndpointsInForce {
            mode: match self.in_force {
                LocalEndpoints::Agent => api::LocalEndpoints::Agent,
                LocalEndpoints::Kubernetes => api::LocalEndpoints::Kubernetes,
            },
            reason: reason.map(str::to_owned),
        }
    }
}
