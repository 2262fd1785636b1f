//! Tables and properties of what is in force.

mod holding;
mod members;
mod pool;
mod rules;
mod shaping;
mod standing;
mod verdicts;
