//! Tests on a fleet in memory.

mod explain;
mod modes;
mod pending;
mod standard;
mod status;
mod view;
mod world;
