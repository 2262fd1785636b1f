//! What becomes of a ServiceExport: the one place that says whether a Service is exported.
//!
//! Service and slices follow the same answer, [`ServiceState::exported`]; the condition `Valid` is its
//! reason.

use fleet_accumulator::Object;
use fleet_api::annotations;
use fleet_model::objects::{Service, ServiceExport};

use super::state::ServiceState;

/// Weight of a ServiceExport without the annotation.
const USUAL_WEIGHT: u32 = 1;
/// Largest weight.
const MAX_WEIGHT: u32 = 1000;

/// What a live ServiceExport comes to.
#[derive(Debug)]
pub enum ExportDecision<'a> {
    /// The Service is exported.
    Export(&'a Object<Service>),
    /// The weight cannot be read: what is exported stays so, nothing else starts. A typing error
    /// must not interrupt traffic.
    Hold(&'a Object<Service>, String),
    /// Weight 0: its user takes the Service out of the fleet.
    Pause,
    /// The Service is absent or being deleted.
    NotFound,
    /// The Service is headless or an `ExternalName`.
    Ineligible,
    /// The member is leaving the fleet, or has left.
    NoMember,
    /// The namespace is the agents' own. Exporting from it would send imported slices back.
    SystemNamespace,
}

impl<'a> ServiceState<'a> {
    /// What `export`, which is not being deleted, comes to.
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
        match weight(export.meta.annotation(annotations::WEIGHT)) {
            Ok(0) => ExportDecision::Pause,
            Ok(_) => ExportDecision::Export(service),
            Err(problem) => ExportDecision::Hold(service, problem),
        }
    }

    /// The Service, if it and its slices are to be on the hub.
    pub(super) fn exported(&self) -> Option<&'a Object<Service>> {
        let export = self.export.filter(|export| !export.meta.is_terminating())?;
        match self.decision(export) {
            ExportDecision::Export(service) => Some(service),
            ExportDecision::Hold(service, _) => self.current(service).map(|_| service),
            ExportDecision::NoMember
            | ExportDecision::Pause
            | ExportDecision::NotFound
            | ExportDecision::Ineligible
            | ExportDecision::SystemNamespace => None,
        }
    }
}

/// Reads the weight annotation; the error says what is wrong with which text.
fn weight(text: Option<&str>) -> Result<u32, String> {
    let Some(text) = text else { return Ok(USUAL_WEIGHT) };
    let number: i64 = text.parse().map_err(|error| format!("{error}: {text:?}"))?;
    u32::try_from(number)
        .ok()
        .filter(|weight| *weight <= MAX_WEIGHT)
        .ok_or_else(|| format!("not within 0 and {MAX_WEIGHT}: {text:?}"))
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
            let read = weight(text);
            assert_eq!(read.as_ref().ok(), expected.as_ref(), "{text:?}");
            if let Err(problem) = read {
                assert!(problem.contains(&format!("{:?}", text.unwrap())), "{problem}");
            }
        }
    }
}
