//! Origin, hub and executor on model servers: the plans of both controllers, in any order, with a crash at every write.

mod another_hub;
mod churn;
mod executor;
mod forgotten;
mod hub;
mod lifecycle;
mod node;
mod others;
mod queue;
mod refused;
mod selections;
mod world;
