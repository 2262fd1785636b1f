//! Endpoints of imported slices where policies, drains and verdicts put them.

mod drains;
mod given;
mod policies;
mod rest;
mod silence;
