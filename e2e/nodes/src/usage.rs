//! What a run takes of this machine.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::Result;

use crate::processes::started_by;

/// Memory, in KiB.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Of processes, by program: memory that is theirs, and their part of what they share.
    pub programs: BTreeMap<String, u64>,
    /// Of files, where they are in memory.
    pub files: u64,
}

impl Usage {
    /// Counts the processes that this process has started, directly or not, and the files in these folders.
    pub fn of_this_run(folders: &[&Path]) -> Result<Self> {
        let mut programs = BTreeMap::new();
        for process in started_by(std::process::id())? {
            // It may have ended meanwhile.
            if let Some(size) = proportional_size(process.pid) {
                *programs.entry(process.name).or_default() += size;
            }
        }
        Ok(Self { programs, files: folders.iter().map(|folder| size_of(folder)).sum() })
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        self.programs.values().sum::<u64>() + self.files
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MiB: files {}", self.total() / 1024, self.files / 1024)?;
        let mut programs: Vec<_> =
            self.programs.iter().filter(|(_, size)| **size >= 1024).collect();
        programs.sort_by_key(|(_, size)| std::cmp::Reverse(**size));
        programs.iter().try_for_each(|(name, size)| write!(f, ", {name} {}", **size / 1024))
    }
}

fn proportional_size(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// What all files below take, in KiB, without what is mounted there elsewhere.
fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
        Ok(metadata) if metadata.is_file() => metadata.blocks() / 2,
        _ => 0,
    });
    sizes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_runs_has_a_size() {
        let this = std::process::id();
        assert!(proportional_size(this).is_some_and(|size| size > 0));
    }
}
