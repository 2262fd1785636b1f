//! What the gauges of virtual nodes show.

use std::collections::BTreeMap;

/// What the gauges of an origin show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pods by executor and phase.
    pub pods: BTreeMap<(String, &'static str), usize>,
    /// Pods by how far they are.
    pub states: BTreeMap<&'static str, usize>,
    /// Executors, whether their Nodes are ready, and why.
    pub nodes: BTreeMap<String, (bool, String)>,
    /// Exports of Pods that do not exist.
    pub left_over: usize,
}
