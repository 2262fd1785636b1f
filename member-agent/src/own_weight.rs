//! The weight that this cluster gives its endpoints of a Service.

use fleet_api::{ObjectName, annotations};
use fleet_model::weight;

use crate::settings::Settings;
use crate::snapshot::MemberSnapshot;

/// The weight in the annotation of the ServiceExports; `None` if it cannot be read, or is not known yet. That of the fleet's API, where
/// 0 withdraws the export by that API alone, counts where that of the standard API has none. Where traffic is not directed, slices do not
/// carry it.
pub(crate) fn of(
    settings: &Settings,
    snapshot: &MemberSnapshot,
    service: &ObjectName,
) -> Option<u16> {
    if !settings.traffic.enabled {
        return Some(weight::USUAL);
    }
    let is_unknown = (settings.multicluster.is_watched()
        && !snapshot.standard_exports.has_answered())
        || (settings.networking && !snapshot.service_exports.has_answered());
    if is_unknown {
        return None;
    }
    let standard = snapshot.standard_exports.get(service);
    let standard = standard.and_then(|export| export.meta.annotation(annotations::WEIGHT));
    if standard.is_some() {
        return weight::parse(standard).ok();
    }
    let fleet = snapshot.service_exports.get(service);
    let fleet = fleet.and_then(|export| export.meta.annotation(annotations::WEIGHT));
    weight::parse(fleet).ok().map(|it| it.max(weight::USUAL))
}
