//! The importer, on model servers.

mod counts;
mod crash;
mod huge;
mod removal;
mod repairs;
mod sources;
mod traffic;
mod types;
mod world;
