//! API server in memory, for tests that need no cluster.
//!
//! - [`ModelServer`] holds objects and follows the rules that plans depend on; [`execute`] sends it a plan;
//! - [`ApiServer`] serves one over HTTP, to a client in the same process;
//! - [`snapshot()`] is what an agent's watches show of two of them;
//! - [`normalized`] is an object in a spelling that can be compared;
//! - [`plans_computed_twice`] fails if the plans of a controller depend on anything else.

mod api_server;
mod model;
mod purity;
mod snapshot;

pub use api_server::{ApiServer, Sent};
pub use model::{Change, ModelServer, Refusal, Write, execute, normalized};
pub use purity::plans_computed_twice;
pub use snapshot::snapshot;
