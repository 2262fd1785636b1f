//! Whether a Service is exported. No other module decides that.
//!
//! Service and slices follow the same decision, [`ServiceState::exported`]; the condition `Valid` reports it.

use fleet_accumulator::Object;
use fleet_api::annotations;
use fleet_model::objects::{Service, ServiceExport};
use fleet_model::weight;

use super::state::ServiceState;

/// The decision on a ServiceExport that is not being deleted.
#[derive(Debug)]
pub enum ExportDecision<'a> {
    /// The Service is exported.
    Export(&'a Object<Service>),
    /// The weight annotation is invalid: what is exported stays so, nothing new is exported. A typing error must not
    /// interrupt traffic.
    Hold(&'a Object<Service>, String),
    /// Services of the namespace are not exported: what is exported stays so, nothing new is exported.
    Denied(&'a Object<Service>),
    /// The weight is 0: the user withdraws the Service from the fleet.
    Pause,
    /// The Service is absent or being deleted.
    NotFound,
    /// The Service is headless or an `ExternalName`.
    Ineligible,
    /// The member is leaving the fleet, or has left.
    NoMember,
    /// The namespace is the agents' own. Exporting from it would export imported slices again.
    SystemNamespace,
}

impl<'a> ServiceState<'a> {
    /// The decision on `export`, which is not being deleted.
    pub(super) fn decision(&self, export: &Object<ServiceExport>) -> ExportDecision<'a> {
        if !self.phase.is_member() {
            return ExportDecision::NoMember;
        }
        if *self.name.namespace == self.identity.system_namespace {
            return ExportDecision::SystemNamespace;
        }
        let Some(service) = self.service.filter(|service| !service.meta.is_terminating()) else {
            return ExportDecision::NotFound;
        };
        if service.is_headless() || service.service_type == "ExternalName" {
            return ExportDecision::Ineligible;
        }
        match weight::parse(export.meta.annotation(annotations::WEIGHT)) {
            Ok(0) => ExportDecision::Pause,
            Ok(_) if self.denied => ExportDecision::Denied(service),
            Ok(_) => ExportDecision::Export(service),
            Err(problem) => ExportDecision::Hold(service, problem),
        }
    }

    /// The Service, if it and its slices are exported.
    pub(super) fn exported(&self) -> Option<&'a Object<Service>> {
        let export = self.export.filter(|export| !export.meta.is_terminating())?;
        match self.decision(export) {
            ExportDecision::Export(service) => Some(service),
            ExportDecision::Hold(service, _) | ExportDecision::Denied(service) => {
                self.current(service).or_else(|| self.restored()).map(|_| service)
            }
            ExportDecision::NoMember
            | ExportDecision::Pause
            | ExportDecision::NotFound
            | ExportDecision::Ineligible
            | ExportDecision::SystemNamespace => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MSE-19: weight absent, legal, at both ends, no number, too small and too large.
    #[test]
    fn a_weight_is_an_integer_from_0_to_1000() {
        for (text, expected) in [
            (None, Some(1)),
            (Some("7"), Some(7)),
            (Some("0"), Some(0)),
            (Some("1000"), Some(1000)),
            (Some("many"), None),
            (Some(""), None),
            (Some("1.5"), None),
            (Some("-1"), None),
            (Some("1001"), None),
            (Some("99999999999999999999"), None),
        ] {
            let read = weight::parse(text);
            assert_eq!(read.as_ref().ok(), expected.as_ref(), "{text:?}");
            if let Err(problem) = read {
                assert!(problem.contains(&format!("{:?}", text.unwrap())), "{problem}");
            }
        }
    }
}
