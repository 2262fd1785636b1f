//! Endpoints of imported slices where policies, drains and verdicts put them.

mod crash;
mod drains;
mod given;
mod handover;
mod kubernetes;
mod local;
mod missing;
mod policies;
mod rest;
mod silence;
mod virtual_nodes;
