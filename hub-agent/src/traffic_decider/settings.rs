use std::time::Duration;

use fleet_api::traffic::FleetTrafficSpec;
use fleet_traffic::SilenceSettings;

/// The settings of silence that an administrator has made.
pub(super) fn silence(spec: &FleetTrafficSpec) -> SilenceSettings {
    SilenceSettings {
        heartbeat: seconds(spec.heartbeat_seconds),
        silent_after: seconds(spec.silent_after_seconds),
        max_silent_percent: percent(spec.max_silent_percent),
        return_after: seconds(spec.return_after_seconds),
        return_over: seconds(spec.return_over_seconds),
    }
}

pub(super) fn seconds(number: i64) -> Duration {
    Duration::from_secs(u64::try_from(number).unwrap_or_default())
}

pub(super) fn percent(number: i64) -> u8 {
    u8::try_from(number.clamp(0, 100)).unwrap_or_default()
}
