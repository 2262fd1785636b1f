//! What the threads of the process do, from `/proc` (proc(5)).

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const TASKS: &str = "/proc/self/task";

/// One line per thread: number, name, state, CPU time in clock ticks, where in the kernel it waits, and the system call
/// with its arguments. Empty where there is no `/proc`.
pub(super) fn report() -> String {
    let mut report = String::new();
    for thread in fs::read_dir(TASKS).into_iter().flatten().flatten() {
        let number = thread.file_name();
        // Writing to a string does not fail.
        let _ = writeln!(report, "thread {}: {}", number.to_string_lossy(), line(&thread.path()));
    }
    report
}

fn line(thread: &Path) -> String {
    let read = |file| fs::read_to_string(thread.join(file)).unwrap_or_default();
    let (stat, place, call) = (read("stat"), read("wchan"), read("syscall"));
    let (name, state, user, system) = parse_stat(&stat);
    format!("{name} {state} cpu {user}+{system} at {} call {}", place.trim(), call.trim())
}

/// Name, state, and ticks in user and kernel mode; the name is in parentheses and may hold any character.
fn parse_stat(stat: &str) -> (&str, &str, &str, &str) {
    let (head, rest) = stat.rsplit_once(") ").unwrap_or(("", ""));
    let name = head.split_once(" (").map_or("", |(_, name)| name);
    let mut fields = rest.split(' ');
    let state = fields.next().unwrap_or_default();
    let (user, system) = (fields.nth(10).unwrap_or_default(), fields.next().unwrap_or_default());
    (name, state, user, system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_behind_any_name() {
        let stat = "7 (tokio (rt) 1) S 1 2 3 4 5 6 7 8 9 10 41 42 0 0 20";
        assert_eq!(parse_stat(stat), ("tokio (rt) 1", "S", "41", "42"));
        assert_eq!(parse_stat(""), ("", "", "", ""));
    }

    #[test]
    fn every_thread_has_a_line() {
        let run = || report();
        let thread = std::thread::Builder::new().name("example".to_owned()).spawn(run).unwrap();
        let report = thread.join().unwrap();
        let own = report.lines().find(|line| line.contains("example R"));
        assert!(own.is_some_and(|line| line.contains(" call ")), "{report}");
    }
}
