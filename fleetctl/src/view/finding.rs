//! What stops a Service, by the part of the path at which it does.

use serde::Serialize;

use super::roles::Roles;
use crate::story::{Cause, Hop, Story};

/// What stops a Service at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The reason.
    pub cause: Cause,
    /// One sentence.
    pub says: String,
    /// What to do, often a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// The side of the hub on which a cause lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Exporter,
    Importer,
    /// It concerns the member, or can lie on both sides.
    Either,
}

/// What stops one Service. Each problem has a place: none is lost where a member has one part only, or none.
pub(super) struct Findings<'a> {
    story: &'a Story,
    roles: &'a Roles,
}

impl<'a> Findings<'a> {
    pub(super) fn of(story: &'a Story, roles: &'a Roles) -> Self {
        Self { story, roles }
    }

    /// What stops it on the hub, in the whole fleet, or in a member without a part in it.
    pub(super) fn fleet(&self) -> Option<Finding> {
        let Roles { exporters, importers } = self.roles;
        self.first(|hop, _| !exporters.contains(&hop.cluster) && !importers.contains(&hop.cluster))
    }

    /// What stops it on its way out of an exporting member.
    pub(super) fn exporter(&self, member: &str) -> Option<Finding> {
        let is_both = self.roles.importers.contains(member);
        self.first(|hop, cause| {
            hop.cluster == member && !(is_both && side(cause) == Side::Importer)
        })
    }

    /// What stops it on its way into an importing member.
    pub(super) fn importer(&self, member: &str) -> Option<Finding> {
        let is_both = self.roles.exporters.contains(member);
        self.first(|hop, cause| {
            hop.cluster == member && !(is_both && side(cause) == Side::Exporter)
        })
    }

    /// The first on the path is what the user has to mend first.
    fn first(&self, is_there: impl Fn(&Hop, Cause) -> bool) -> Option<Finding> {
        let stops = self.story.hops.iter().filter(|hop| hop.stops());
        let mut found = stops.filter_map(|hop| Some((hop, hop.cause?)));
        let (hop, cause) = found.find(|(hop, cause)| is_there(hop, *cause))?;
        Some(Finding { cause, says: hop.says.clone(), advice: hop.advice.clone() })
    }
}

/// Complete on purpose: a new cause has to be put on a side.
fn side(cause: Cause) -> Side {
    match cause {
        Cause::NotExported
        | Cause::ExportTerminating
        | Cause::ServiceNotFound
        | Cause::ServiceIneligible
        | Cause::NoAddress
        | Cause::WeightZero
        | Cause::WeightInvalid
        | Cause::ReferenceRefused
        | Cause::ExportRefused
        | Cause::DuplicateExport
        | Cause::LimitExceeded
        | Cause::Conflict
        | Cause::PortsWithheld => Side::Exporter,
        Cause::NotImported
        | Cause::ImportTerminating
        | Cause::ImportHeldHere
        | Cause::ImportForeign
        | Cause::ImportHeldByCluster
        | Cause::NotGranted
        | Cause::FamilyNotSupported
        | Cause::ImportKept
        | Cause::EndpointsRefused
        | Cause::NamesNotServed
        | Cause::NotReached
        | Cause::DerivedServiceMissing => Side::Importer,
        Cause::NoRight
        | Cause::DefinitionMissing
        | Cause::NotRead
        | Cause::MemberHomeMissing
        | Cause::OtherCluster
        | Cause::MemberSilent
        | Cause::MemberLeaving
        | Cause::MemberLeft
        | Cause::StandardOff
        | Cause::NotAccepted
        | Cause::OtherClusterId
        | Cause::SystemNamespace
        | Cause::PolicyDenied
        | Cause::NamespaceDenied
        | Cause::NoEndpoints
        | Cause::AgentBehind
        | Cause::AgentBlocked
        | Cause::HubNamespaceMissing
        | Cause::HubImportHeld
        | Cause::HubAgentBehind
        | Cause::NamespaceTerminating
        | Cause::NoFreeName
        | Cause::SystemNamespaceMissing => Side::Either,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(exporters: &[&str], importers: &[&str]) -> Roles {
        let of = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Roles { exporters: of(exporters), importers: of(importers) }
    }

    /// Where a problem of east is shown: at the exporter, the Service and the importer.
    fn places(roles: &Roles, cause: Cause) -> [bool; 3] {
        let hops = vec![Hop::stop("east", "", cause, "", "")];
        let story = Story::new("shop/web".to_owned(), hops, vec![]);
        let found = Findings::of(&story, roles);
        let exporter = found.exporter("east").filter(|_| roles.exporters.contains("east"));
        let importer = found.importer("east").filter(|_| roles.importers.contains("east"));
        [exporter.is_some(), found.fleet().is_some(), importer.is_some()]
    }

    #[test]
    fn a_member_on_both_sides_has_a_problem_where_it_lies() {
        let both = roles(&["east"], &["east", "west"]);
        assert_eq!(places(&both, Cause::Conflict), [true, false, false]);
        assert_eq!(places(&both, Cause::NotGranted), [false, false, true]);
        assert_eq!(places(&both, Cause::MemberSilent), [true, false, true]);
    }

    #[test]
    fn no_cause_is_lost() {
        for &cause in Cause::ALL {
            assert_eq!(places(&roles(&["east"], &["west"]), cause), [true, false, false]);
            assert_eq!(places(&roles(&["west"], &["east"]), cause), [false, false, true]);
            assert_eq!(places(&roles(&["west"], &["west"]), cause), [false, true, false]);
            let both = places(&roles(&["east"], &["east"]), cause);
            assert!(both.contains(&true), "{cause:?}");
        }
    }
}
