//! Tests on a fleet in memory.

mod explain;
mod pending;
mod status;
mod world;
