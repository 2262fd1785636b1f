//! The controller against a model API server, a file per behaviour.

mod crashes;
mod evidence;
mod rebuilding;
mod refusals;
mod silence;
mod withdrawal;
mod world;
mod writes;
