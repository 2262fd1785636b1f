//! How many objects of members the limits set by flags refuse, for a metric.

use std::collections::BTreeMap;

use fleet_api::names::member_of_namespace;
use fleet_api::{ObjectName, kinds};

use super::keys::owner_of;
use super::places;
use super::slices::budget::{Surplus, endpoints};
use super::state::ServiceState;
use crate::Settings;
use crate::places::Refused;
use crate::snapshot::HubSnapshot;

/// Counts what the limits refuse. The cost depends on the size of the fleet: this is for scrapes, not for plans.
pub fn refused(settings: &Settings, snapshot: &HubSnapshot) -> Vec<Refused> {
    let mut refused = exports(settings, snapshot);
    refused.extend(slices(settings, snapshot));
    refused
}

fn exports(settings: &Settings, snapshot: &HubSnapshot) -> Vec<Refused> {
    let limit = settings.max_services_per_member;
    let namespaces = snapshot.namespaces.iter().map(|namespace| &namespace.name.name);
    let members = namespaces.filter_map(|name| Some((name, member_of_namespace(name)?)));
    let refused = members.map(|(name, member)| {
        let count = places::without_place(&snapshot.internal_exports, name, limit);
        (member.to_owned(), kinds::INTERNAL_SERVICE_EXPORT, count)
    });
    refused.filter(|(.., count)| *count > 0).collect()
}

fn slices(settings: &Settings, snapshot: &HubSnapshot) -> Vec<Refused> {
    let mut totals: BTreeMap<&str, usize> = BTreeMap::new();
    for slice in snapshot.slice_exports.iter().filter(|slice| owner_of(slice).is_some()) {
        let service = slice.spec.owner_service_reference.namespaced_name.as_str();
        *totals.entry(service).or_default() += endpoints(&slice.spec);
    }
    totals.retain(|_, total| *total > settings.max_endpoints_per_service);
    let large = totals.into_keys().filter_map(ObjectName::parse);
    let of_service = |service: ObjectName| -> Vec<Refused> {
        let state = ServiceState::of(settings, &service, snapshot);
        let members = Surplus::of(&state);
        let refused = members.members();
        let kind = kinds::ENDPOINT_SLICE_EXPORT;
        refused.map(|(member, count)| (member.to_owned(), kind, count)).collect()
    };
    large.flat_map(of_service).collect()
}
