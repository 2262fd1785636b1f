//! Fleets of Go agents and ours: one takes over what the other has made, on the side of members.
//!
//! Objects of Go agents are written as those agents leave them ([`shapes`]); their controllers are a small
//! model of their rules ([`go`]).

mod draining;
mod go;
mod imports;
mod member;
mod shapes;
mod to_go;
mod to_rust;
