//! `fleet-testbed`: a fleet of real control planes on one machine, to try things out.

fn main() {}
