//! The controller against a model API server. Comments that begin with an id (HMC-1) name the scenario of the
//! specification that the test shows.

mod force_delete;
mod heartbeat;
