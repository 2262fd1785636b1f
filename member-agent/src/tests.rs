//! All controllers of the agent, on model servers.

mod controllers;
mod held_up;
