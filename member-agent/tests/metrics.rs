//! `docs/metrics.md` is what the agents register, and what the charts ask for is in it.

#[path = "metrics/charts.rs"]
mod charts;
#[path = "metrics/promql.rs"]
mod promql;
#[path = "metrics/reference.rs"]
mod reference;
