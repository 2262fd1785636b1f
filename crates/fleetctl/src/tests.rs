//! Tests on a fleet in memory.

mod explain;
mod world;
