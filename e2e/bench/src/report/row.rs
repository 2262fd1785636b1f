//! Rows of the table, and how numbers are worded in them.

use std::fmt::{self, Write as _};

use serde::Serialize;

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Percentiles {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

/// One measured number, and whether it meets its limit.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) limit: String,
    pub(super) met: Option<bool>,
    pub(super) original: &'static str,
}

impl Row {
    pub(super) fn new(name: impl Into<String>, value: String) -> Self {
        Self { name: name.into(), value, limit: String::new(), met: None, original: "" }
    }

    pub(super) fn limit(self, met: bool, limit: String) -> Self {
        Self { limit, met: Some(met), ..self }
    }

    pub(super) fn original(self, original: &'static str) -> Self {
        Self { original, ..self }
    }
}

/// Rounded to what a repeated run may confirm.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

pub(super) fn millis(value: f64) -> String {
    format!("{value:.2} ms")
}

pub(super) fn seconds(value: f64) -> String {
    format!("{value:.2} s")
}

pub(super) fn line(
    table: &mut String,
    [name, value, limit, met, original]: [&str; 5],
) -> fmt::Result {
    let text = format!("{name:<42}{value:>12}   {limit:<33}{met:<8}{original}");
    writeln!(table, "{}", text.trim_end())
}
