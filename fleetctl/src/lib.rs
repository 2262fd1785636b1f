//! The command line tool of the fleet: joins members and shows the state of the fleet.
//!
//! - [`picture`]: the state of all clusters at one moment; [`gather`] reads it. All commands that only read are functions
//!   of it.
//! - [`explain()`]: where one Service stops; [`story`]: the data of an explanation.
//! - [`pending`]: the writes that the agents have not made yet; [`status`]: the state of the fleet.
//! - [`view`]: exporters, Services and importers, with what stops each; [`graph`] draws it, [`map`] shows it in a browser.
//! - [`recorded`]: the objects of all clusters, for recordings; [`what_if`]: what an action would do to them.
//! - [`doctor`]: what agents, Services and names need around them, as a table of checks.
//! - [`offload`]: what members offer to each other; [`pod_path`]: on which hop a Pod of a virtual node waits.
//! - [`traffic`]: what administrators decide about a member's endpoints.
//! - [`run`]: runs the command ([`args`]) and prints its output ([`render`], [`output`]).

pub mod access;
mod agent_version;
pub mod approval;
pub mod args;
pub mod cause;
mod controllers;
pub mod credential;
mod credentials;
mod denied;
mod deployments;
mod diff;
pub mod doctor;
pub mod explain;
pub mod gather;
pub mod graph;
mod handover;
mod hearing;
mod join;
mod json_diff;
mod leave;
mod leave_local;
mod left_out;
mod limits;
mod manifests;
pub mod map;
mod member_objects;
mod member_policy;
mod modes;
mod named;
mod names_served;
mod objects;
pub mod offload;
pub mod output;
mod parts;
pub mod pending;
pub mod picture;
mod place;
pub mod pod_path;
pub mod policy_args;
pub mod quotas;
mod rbac;
pub mod reach;
mod reading;
mod rebuild_hub;
pub mod recorded;
pub mod render;
mod replace;
mod reserved;
pub mod run;
mod shell;
pub mod status;
pub mod story;
mod token;
mod trace;
pub mod traffic;
pub mod view;
pub mod what_if;
mod yaml;

pub use explain::explain;

#[cfg(test)]
mod tests;
