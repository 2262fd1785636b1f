//! The controller against a model API server, a file per behaviour.

mod crashes;
mod failures;
mod nodes;
mod offers;
mod pods;
mod world;
