//! Namespaces whose Services are not shared with the fleet.

use fleet_accumulator::View;
use fleet_api::ObjectName;
use fleet_model::objects::Namespace;

use crate::Settings;

/// Whether Services of a namespace are not shared: the settings list it, or it is for Pods of another member. Equal names of namespaces
/// mean the same namespace in all members, and that of an executor is none that its origin has.
pub(crate) fn is_denied(settings: &Settings, namespaces: &View<Namespace>, name: &str) -> bool {
    let is_for_others = || {
        namespaces
            .get(&ObjectName::cluster(name))
            .is_some_and(|space| space.object.offload.is_some())
    };
    settings.denied_namespaces.include(name) || is_for_others()
}
