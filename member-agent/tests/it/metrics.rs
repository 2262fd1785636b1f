//! `docs/metrics.md` lists what the agents register, and the queries of the charts use nothing else.

mod catalogue;
mod charts;
mod promql;
mod reference;
