//! Topology hints name the zones and nodes whose clients should use an endpoint. The topology annotation assigns them in
//! proportion to the zones' capacity; otherwise the Service's traffic distribution assigns each endpoint to its own zone
//! or node.

use k8s_openapi::api::core::v1::Service;

use crate::changes::Packed;
use crate::slice::Template;
use crate::{Cause, Config, Event, Hints};

use self::distribution::Distribution;
use self::endpoints::clear;
use self::topology::{Overview, ServiceHints};

mod allocation;
pub(crate) mod annotation;
mod assignment;
mod balance;
mod distribution;
mod endpoints;
#[cfg(test)]
mod tests;
pub(crate) mod topology;
pub(crate) mod zones;

/// Result of assigning hints for one address type.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    pub(crate) event: Option<Event>,
    pub(crate) topology: bool,
    pub(crate) traffic_distribution: Option<&'static str>,
}

/// Sets the hints of all endpoints of one address type. Unchanged slices with wrong hints become updates.
pub(crate) fn apply(
    template: &Template<'_>,
    topology: Option<Overview<'_>>,
    known: &mut ServiceHints,
    packed: &mut Packed<'_>,
) -> Applied {
    let Template { service, config, address_type, .. } = *template;
    let event = |cause, sizes| Event { cause, address_type, sizes };
    if annotation::follows_capacity(service) {
        let Some(topology) = topology else {
            clear(packed);
            return Applied::default();
        };
        let mut applied = Applied { topology: true, ..Applied::default() };
        match assignment::assign(topology.zones, packed) {
            Ok(counts) => {
                let first = !known.has(address_type);
                known.set(address_type, counts);
                applied.event = first.then(|| event(Cause::Enabled, None));
            }
            Err(refusal) => {
                clear(packed);
                known.forget(address_type);
                applied.event = Some(event(refusal.cause, refusal.sizes));
            }
        }
        return applied;
    }
    let disabled = topology.is_some() && known.forget(address_type);
    let event = disabled.then(|| event(Cause::Disabled, None));
    let distribution = distribution_of(service, config);
    match distribution {
        Some(distribution) => distribution.apply(packed),
        None => clear(packed),
    }
    let traffic_distribution = distribution.map(Distribution::as_str);
    Applied { event, topology: false, traffic_distribution }
}

fn distribution_of(service: &Service, config: &Config) -> Option<Distribution> {
    let value = service.spec.as_ref()?.traffic_distribution.as_deref()?;
    Distribution::parse(value)
        .filter(|distribution| *distribution == Distribution::Close || config.hints == Hints::All)
}
