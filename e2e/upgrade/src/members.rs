//! The members of the fleet.

use std::time::Duration;

/// Clusters with agents of this project.
pub(crate) const MEMBERS: [&str; 2] = ["east", "west"];

/// A member of Go agents. It has no cluster: its objects on the hub stand for it.
pub(crate) const NORTH: &str = "north";

/// Longest time that anything may take which takes milliseconds on an idle machine.
pub(crate) const DEADLINE: Duration = Duration::from_mins(2);
