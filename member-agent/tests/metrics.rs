//! `docs/metrics.md` is what the agents register, and what the charts ask for is in it.

#![allow(clippy::unwrap_used, reason = "clippy takes only #[test] functions for tests")]

#[path = "metrics/catalogue.rs"]
mod catalogue;
#[path = "metrics/charts.rs"]
mod charts;
#[path = "metrics/promql.rs"]
mod promql;
#[path = "metrics/reference.rs"]
mod reference;
