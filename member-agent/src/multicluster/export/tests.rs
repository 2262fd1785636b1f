//! The controller against model API servers.

mod conditions;
mod contested;
mod crash;
mod metadata;
mod offer;
mod refused;
mod slices;
mod twice;
mod without_hub;
mod world;
