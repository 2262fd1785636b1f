//! Which drains `fleetctl drain` asks for without `--force`. Pure. What-if refuses by the same rules: one that foresees what the
//! command does not do is no guard of it.

use std::{fmt, iter};

use anyhow::{Result, bail};
use fleet_api::ObjectName;
use hub_agent::snapshot::HubSnapshot;

use super::impact::{self, Impact};
use crate::named::named;

const REFUSED: &str = "Refused: these Services would have no ready endpoint. With --force they are drained all the same";

/// How many Services an error names.
const NAMED: usize = 10;

/// A drain is refused: no other member serves these Services.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused(Vec<Impact>);

impl Refused {
    /// The sentence, whatever the Services are.
    pub(crate) fn sentence() -> &'static str {
        REFUSED
    }

    /// The Services.
    pub(crate) fn services(&self) -> Vec<String> {
        self.0.iter().map(|impact| impact.service.to_string()).collect()
    }

    /// The sentence, and a line for each Service.
    pub(crate) fn lines(&self) -> Vec<String> {
        let services = self.0.iter().map(Impact::line);
        iter::once(REFUSED.to_owned()).chain(services).collect()
    }
}

/// In one line, as errors are shown.
impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let services: Vec<_> = self.0.iter().map(Impact::line).collect();
        write!(f, "{REFUSED}: {}", named(&services, NAMED, "; "))
    }
}

impl std::error::Error for Refused {}

/// Checks a drain of these Services, or of all, as the command does without `--force`.
///
/// # Errors
/// [`Refused`] where the command exits 1; any other where it exits 2.
pub(crate) fn check_drain(member: &str, services: &[ObjectName], hub: &HubSnapshot) -> Result<()> {
    let impacts = impact::of(member, services, hub);
    check_exported(member, services, &impacts)?;
    check_served(&impacts)?;
    Ok(())
}

/// A name that is mistyped would be drained of nothing.
pub(super) fn check_exported(
    member: &str,
    services: &[ObjectName],
    impacts: &[Impact],
) -> Result<()> {
    let is_exported =
        |service: &&ObjectName| impacts.iter().any(|impact| impact.service == **service);
    if let Some(service) = services.iter().find(|service| !is_exported(service)) {
        bail!(
            "{member} has no ready endpoint of {}/{}; --force drains it all the same",
            service.namespace,
            service.name
        );
    }
    Ok(())
}

/// The hub agent would hold these Services back, and drain the others.
pub(super) fn check_served(impacts: &[Impact]) -> Result<(), Refused> {
    let alone: Vec<_> = impacts.iter().filter(|impact| impact.is_alone()).cloned().collect();
    if alone.is_empty() { Ok(()) } else { Err(Refused(alone)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn impact(service: &str, others: usize) -> Impact {
        Impact { service: ObjectName::new("shop", service), own: 1, others, unserved: None }
    }

    #[test]
    fn services_that_no_other_member_serves_are_named() {
        let refused = check_served(&[impact("db", 0), impact("web", 2)]).unwrap_err();
        assert_eq!(refused.services(), ["shop/db"]);
        let line = "shop/db: 1 ready endpoints here, none of another member";
        assert_eq!(refused.lines(), [Refused::sentence(), line]);
        assert_eq!(refused.to_string(), format!("{}: {line}", Refused::sentence()));
        assert_eq!(check_served(&[impact("web", 2)]), Ok(()));
        assert_eq!(check_served(&[]), Ok(()));
    }

    #[test]
    fn an_error_of_many_services_is_one_short_line() {
        let all: Vec<_> = (0..1000).map(|number| impact(&format!("s{number}"), 0)).collect();
        let refused = check_served(&all).unwrap_err();
        let error = refused.to_string();
        assert!(error.ends_with("and 990 more") && !error.contains('\n'), "{error}");
        assert_eq!(refused.lines().len(), 1001);
    }

    #[test]
    fn a_service_that_is_not_exported_is_named() {
        let (web, wbe) = (ObjectName::new("shop", "web"), ObjectName::new("shop", "wbe"));
        let impacts = [impact("web", 2)];
        check_exported("east", &[], &impacts).unwrap();
        check_exported("east", std::slice::from_ref(&web), &impacts).unwrap();
        let error = check_exported("east", &[web, wbe], &impacts).unwrap_err().to_string();
        assert_eq!(error, "east has no ready endpoint of shop/wbe; --force drains it all the same");
    }
}
