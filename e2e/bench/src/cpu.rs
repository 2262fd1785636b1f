//! CPU time of a process, in nanoseconds.

use std::time::Duration;

use anyhow::{Context, Result};
use fleet_testbed::agents::Usage;

/// What a process has used since it began. Threads that have ended are in the process' own account alone, which has ticks of
/// 10 ms: few programs here end any, and if one does, that account counts.
pub(super) fn of(pid: u32) -> Result<Duration> {
    let folder = format!("/proc/{pid}/task");
    let threads = std::fs::read_dir(&folder).with_context(|| format!("list {folder}"))?;
    let files = threads.map(|thread| Ok(thread?.path().join("schedstat")));
    let files: Vec<_> = files.collect::<Result<_>>()?;
    // One that ends meanwhile has no file any more.
    let texts = files.iter().filter_map(|file| std::fs::read_to_string(file).ok());
    let times: Vec<_> = texts.map(|text| on_cpu(&text)).collect::<Option<_>>().context(folder)?;
    Ok(times.iter().sum::<Duration>().max(Usage::of(pid)?.cpu))
}

/// The first of the numbers of `schedstat`: nanoseconds that a thread has run.
fn on_cpu(schedstat: &str) -> Option<Duration> {
    schedstat.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_thread_is_in_nanoseconds() {
        assert_eq!(on_cpu("1234567891 42 7\n"), Some(Duration::from_nanos(1_234_567_891)));
        assert_eq!(on_cpu("no number"), None);
        assert_eq!(on_cpu(""), None);
    }
}
