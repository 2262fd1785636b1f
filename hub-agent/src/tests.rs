//! All controllers of the agent, on a model server.

mod purity;
