//! A proxy in front of an API server that sees requests: it ends TLS, speaks HTTP/1.1 to both sides, keeps a log of
//! what was asked and answered, and does to single requests what networks, overloaded servers and crashes do to them.
//!
//! It shows the API server's own certificate, so that a client needs nothing but another address. Bearer tokens pass
//! through; a client certificate cannot. Faults that do not depend on requests are [`crate::proxy`]'s.

mod links;
mod log;
mod proxy;
mod request;
mod rule;
mod serve;
mod shared;
mod stream;
#[cfg(test)]
mod tests;
mod upstream;

pub use links::{Link, Links, Side};
pub use log::{Entry, Log};
pub use proxy::FaultProxy;
pub use request::{Seen, Verb};
pub use rule::{Answer, Fault, Hit, Planned, Rule};
pub use upstream::RACED;
