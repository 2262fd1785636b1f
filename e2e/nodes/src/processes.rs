//! Who has started whom, from /proc.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use fleet_testbed::state::ProcessRecord;

/// All processes that a process has started, directly or not, those of its containers too.
pub fn started_by(from: u32) -> Result<Vec<ProcessRecord>> {
    let parents = parents()?;
    let started = parents.keys().filter(|pid| descends(**pid, from, &parents));
    Ok(started.map(|pid| ProcessRecord::of(&name_of(*pid), *pid, Path::new(""))).collect())
}

/// The name of a process; empty if it is gone.
fn name_of(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim().to_owned()
}

/// The parent of every process.
fn parents() -> Result<BTreeMap<u32, u32>> {
    let mut parents = BTreeMap::new();
    for entry in fs::read_dir("/proc").context("read /proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        if let Some(parent) = parent_of(pid) {
            parents.insert(pid, parent);
        }
    }
    Ok(parents)
}

/// A process that this one has started and that is not gone.
pub(crate) fn child_of(parent: u32) -> Option<u32> {
    parents().ok()?.into_iter().find_map(|(pid, of)| (of == parent).then_some(pid))
}

/// Whether `from` has started the process, directly or not.
fn descends(mut pid: u32, from: u32, parents: &BTreeMap<u32, u32>) -> bool {
    while let Some(parent) = parents.get(&pid) {
        if *parent == from {
            return true;
        }
        pid = *parent;
    }
    false
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before may hold anything.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_and_their_children_are_ours() {
        let parents = BTreeMap::from([(1, 0), (5, 1), (6, 5), (7, 6), (8, 1)]);
        assert!(descends(7, 5, &parents) && descends(6, 5, &parents));
        assert!(!descends(8, 5, &parents) && !descends(5, 5, &parents));
    }

    #[test]
    fn a_process_that_runs_has_a_parent() {
        let this = std::process::id();
        let parent = parent_of(this).unwrap();
        assert_eq!(parents().unwrap().get(&this), Some(&parent));
    }
}
