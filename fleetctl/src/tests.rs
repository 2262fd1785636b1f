//! Tests on a fleet in memory.

mod explain;
mod modes;
mod pending;
mod recorded;
mod standard;
mod status;
mod view;
mod what_if;
mod world;
