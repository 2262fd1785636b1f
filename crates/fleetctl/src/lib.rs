//! The command line tool of the fleet: joins members, and says what goes on.
//!
//! - [`picture`]: what the clusters showed at one moment. Everything that answers a question is a function of it.
//! - [`explain()`]: where one Service stops; [`story`]: how that is told.
//! - [`pending`]: what the agents would write now.

pub mod explain;
pub mod pending;
pub mod picture;
mod reading;
pub mod story;

pub use explain::explain;

#[cfg(test)]
mod tests;
