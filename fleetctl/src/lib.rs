//! The command line tool of the fleet: joins members, and says what goes on.
//!
//! - [`picture`]: what the clusters showed at one moment; [`gather`] takes it. Everything that answers a question is a
//!   function of it.
//! - [`explain()`]: where one Service stops; [`story`]: how that is told.
//! - [`pending`]: what the agents would write now; [`status`]: the fleet at a glance.
//! - [`run`]: from the command line ([`args`]) to an answer ([`render`]), its format and an exit code ([`output`]).

pub mod access;
pub mod args;
pub mod cause;
mod credentials;
mod diff;
pub mod explain;
pub mod gather;
mod join;
mod json_diff;
mod leave;
mod member_objects;
mod objects;
pub mod output;
pub mod pending;
pub mod picture;
mod reading;
pub mod render;
pub mod run;
pub mod status;
pub mod story;
mod trace;

pub use explain::explain;

#[cfg(test)]
mod tests;
