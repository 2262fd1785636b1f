//! How many Services the hub agent accepts of a member. No object shows the flag, but what it has rejected does.

use fleet_api::conditions;
use fleet_plan::conditions::find;
use hub_agent::Settings;
use hub_agent::service::limit_named_in;
use hub_agent::snapshot::HubSnapshot;

/// The defaults, with the limits that messages of the hub agent name.
pub(crate) fn by_hub(hub: &HubSnapshot) -> Settings {
    let default = Settings::default();
    let exports = hub.internal_exports.iter();
    let named = exports
        .filter_map(|export| limit_named_in(&find(&export.conditions, conditions::VALID)?.message));
    let standard = hub.exported_services.iter();
    let standard = standard
        .filter_map(|export| limit_named_in(&find(&export.conditions, conditions::READY)?.message));
    let max_services_per_member =
        named.chain(standard).max().unwrap_or(default.max_services_per_member);
    Settings { max_services_per_member, ..default }
}
