//! Sends the steps of a plan.
