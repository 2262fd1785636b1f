//! Durations as flags take them.

use std::time::Duration;

use jiff::SignedDuration;

/// Reads `90s`, `1m30s`, `15m0s` or `0s`; for flags.
///
/// # Errors
/// What is wrong with the text.
pub fn duration(text: &str) -> Result<Duration, String> {
    let duration: SignedDuration = text.parse().map_err(|error| format!("{error}"))?;
    Duration::try_from(duration).map_err(|_| "it is negative".to_owned())
}

/// [`duration`] that is not nothing; for flags.
///
/// # Errors
/// What is wrong with the text.
pub fn interval(text: &str) -> Result<Duration, String> {
    let interval = duration(text)?;
    if interval.is_zero() { Err("it is zero".to_owned()) } else { Ok(interval) }
}

/// Reads how long a watch may last, in whole seconds; for flags. What is longer, the API server or a
/// load balancer would end first.
///
/// # Errors
/// What is wrong with the text.
pub fn watch_seconds(text: &str) -> Result<u32, String> {
    let duration = duration(text)?;
    let seconds = u32::try_from(duration.as_secs()).unwrap_or(u32::MAX);
    match (seconds, duration.subsec_nanos()) {
        (1..=290, 0) => Ok(seconds),
        _ => Err("it must be whole seconds, at least 1 and at most 290".to_owned()),
    }
}
