//! A hub that has less than the machine: on one machine the played members take what the hub would have, and the rate at which
//! everything together ends is hardly the limit of the hub. With a share of its own the hub ends first, as it does where each
//! member has a machine.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Length of a period, in microseconds: that of the kernel's own default.
const PERIOD: u64 = 100_000;
/// Where control groups of the first version have the processor, and where those of the second are.
const ROOTS: [(&str, Version); 2] =
    [("/sys/fs/cgroup/cpu", Version::First), ("/sys/fs/cgroup", Version::Second)];
/// What every group of the second version has.
const OF_SECOND: &str = "cgroup.controllers";

/// Of control groups (`cgroups(7)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    First,
    Second,
}

/// Processes that together have no more than a share of a core, until this is dropped.
#[derive(Debug)]
pub(crate) struct Quota {
    group: PathBuf,
    pids: Vec<u32>,
}

impl Quota {
    /// Gives `pids` so many thousandths of a core together. `None` where this user may not.
    pub(crate) fn of(pids: Vec<u32>, millicores: u64) -> Result<Option<Self>> {
        let name = format!("fleet-scale-{}", std::process::id());
        let made = ROOTS.into_iter().find_map(|(root, version)| {
            let group = Path::new(root).join(&name);
            fs::create_dir(&group).ok()?;
            let limited = limit(&group, version, millicores * PERIOD / 1000);
            limited.map_err(|_| fs::remove_dir(&group)).ok()?;
            Some(group)
        });
        let Some(group) = made else { return Ok(None) };
        let quota = Self { group, pids };
        quota.pids.iter().try_for_each(|pid| join(&quota.group, *pid))?;
        Ok(Some(quota))
    }

    /// The periods since it was made.
    pub(crate) fn periods(&self) -> Result<Periods> {
        let path = self.group.join("cpu.stat");
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        let periods = Periods::parse(&text);
        periods.with_context(|| format!("{} counts no periods: {text}", path.display()))
    }
}

/// Periods in which processes of a group ran, and how many of them ended before the processes had what they wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Periods {
    all: f64,
    throttled: f64,
}

impl Periods {
    fn parse(text: &str) -> Option<Self> {
        let number = |name: &str| {
            let lines = text.lines().filter_map(|line| line.split_once(' '));
            lines.filter(|(key, _)| *key == name).find_map(|(_, number)| number.parse().ok())
        };
        Some(Self { all: number("nr_periods")?, throttled: number("nr_throttled")? })
    }

    /// The share of those since `before` in which the share of a core did not suffice.
    pub(crate) fn throttled_since(self, before: Self) -> f64 {
        (self.throttled - before.throttled) / (self.all - before.all).max(1.0)
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // Those that have ended are not there to be moved. What then stays is an empty group.
        if let Some(root) = self.group.parent() {
            for pid in &self.pids {
                let _ = join(root, *pid);
            }
        }
        let _ = fs::remove_dir(&self.group);
    }
}

fn limit(group: &Path, version: Version, micros: u64) -> std::io::Result<()> {
    match version {
        Version::First => {
            fs::write(group.join("cpu.cfs_period_us"), PERIOD.to_string())?;
            fs::write(group.join("cpu.cfs_quota_us"), micros.to_string())
        }
        Version::Second => {
            // Elsewhere a file of any name can be made.
            fs::metadata(group.join(OF_SECOND))?;
            fs::write(group.join("cpu.max"), format!("{micros} {PERIOD}"))
        }
    }
}

/// Moves a process with all its threads.
fn join(group: &Path, pid: u32) -> Result<()> {
    let list = group.join("cgroup.procs");
    fs::write(&list, pid.to_string()).with_context(|| format!("{pid} into {}", list.display()))
}

#[test]
fn periods_of_both_versions_are_read() {
    let first = Periods::parse("nr_periods 10\nnr_throttled 4\nthrottled_time 77\n").unwrap();
    let second = "usage_usec 1\nuser_usec 1\nnr_periods 30\nnr_throttled 14\nthrottled_usec 9\n";
    let share = Periods::parse(second).unwrap().throttled_since(first);
    assert!((share - 0.5).abs() < 1e-9, "{share}");
    assert!(first.throttled_since(first).abs() < 1e-9);
    assert_eq!(Periods::parse("usage_usec 1\n"), None);
}
