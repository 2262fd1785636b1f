//! What is asked of each step, of each rest, and of the whole of a plan.

pub(crate) mod imports;
pub(crate) mod rest;
pub(crate) mod steps;
