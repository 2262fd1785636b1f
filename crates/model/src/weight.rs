//! The weight that an exporter gives itself.

/// The weight of an export without the annotation.
pub const USUAL: u16 = 1;
/// The greatest one.
const MOST: u16 = 1000;

/// The weight in the annotation [`WEIGHT`](fleet_api::annotations::WEIGHT). The error contains the text and what is wrong with it.
///
/// # Errors
/// If it is no integer from 0 to 1000.
pub fn parse(text: Option<&str>) -> Result<u16, String> {
    let Some(text) = text else { return Ok(USUAL) };
    let number: i64 = text.parse().map_err(|error| format!("{error}: {text:?}"))?;
    let weight = u16::try_from(number).ok().filter(|weight| *weight <= MOST);
    weight.ok_or_else(|| format!("not within 0 and {MOST}: {text:?}"))
}

/// The weight that a slice of an exporter carries; the usual one where it carries none, or one that cannot be read.
pub fn carried(text: Option<&str>) -> u16 {
    parse(text).unwrap_or(USUAL)
}
