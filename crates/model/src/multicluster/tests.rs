//! Resolution: every property, every order of arrival, random fleets.

mod fleets;
mod ports;
mod properties;
mod silence;

use std::borrow::Cow;

use fleet_api::ObjectName;
use fleet_api::multicluster::{ServicePort, ServiceProperties};
use jiff::Timestamp;

use super::export::Export;
use super::resolution::{InForce, Resolution, resolve};
use crate::precedence::Precedence;

/// An export of a cluster that began at a second.
fn export(cluster: &'static str, second: i64, properties: ServiceProperties) -> Export<'static> {
    let since = Timestamp::from_second(second).unwrap();
    Export { cluster, since, precedence: Precedence::ByAge, properties: Cow::Owned(properties) }
}

/// Ports as `name number/protocol`, without a name if it begins with a blank.
fn ports(texts: &[&str]) -> Vec<ServicePort> {
    let port = |text: &&str| {
        let (name, rest) = text.split_once(' ').unwrap();
        let (number, protocol) = rest.split_once('/').unwrap();
        ServicePort {
            name: name.to_owned(),
            protocol: protocol.into(),
            port: number.parse().unwrap(),
            app_protocol: None,
        }
    };
    texts.iter().map(port).collect()
}

fn with_ports(texts: &[&str]) -> ServiceProperties {
    ServiceProperties { ports: ports(texts), ..ServiceProperties::default() }
}

fn service() -> ObjectName {
    ObjectName::new("shop", "web")
}

fn resolved(exports: &[Export<'_>]) -> Resolution {
    resolve(&service(), exports, None).unwrap()
}

/// The same after something was in force.
fn resolved_after(exports: &[Export<'_>], before: &Resolution) -> Resolution {
    let exporters = &before.spec.exporters;
    let in_force = InForce { exporters, ..former(&before.spec.properties) };
    resolve(&service(), exports, Some(in_force)).unwrap()
}

/// What was in force, of exporters that are gone.
fn former(properties: &ServiceProperties) -> InForce<'_> {
    InForce { properties, exporters: &[], is_provisional: false }
}

/// The reasons of the conflicts, as a condition has them.
fn reasons(resolution: &Resolution) -> String {
    let reasons = resolution.spec.conflicts.iter().map(|conflict| conflict.reason.as_str());
    reasons.collect::<Vec<_>>().join(",")
}
