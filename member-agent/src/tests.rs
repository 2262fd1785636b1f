//! All rooms of the agent, on model servers.

mod held_up;
mod rooms;
