//! The controller against a model API server. Comments that begin with a code (HMC-1) name the case of
//! docs/design/contract.md that the test shows.

mod acceptance;
mod confirmation;
mod force_delete;
mod incarnation;
mod policy;
mod silence;
