//! `docs/metrics.md` is what the agents register.

#[path = "metrics/reference.rs"]
mod reference;
