//! The ends of the agents' logs, for the error of a test: of a run on another machine often that text alone is kept.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// So many lines of each log.
const LINES: usize = 10;
/// So much of each line.
const CHARS: usize = 260;

/// The last lines of each log in a folder that are warnings, errors, or writes of an agent.
pub(crate) fn log_ends(folder: &Path) -> String {
    let mut text = String::new();
    for path in logs(folder) {
        let Ok(log) = std::fs::read(&path) else { continue };
        let _ = writeln!(text, "\n{}:", path.display());
        for line in last(&String::from_utf8_lossy(&log)) {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}

fn logs(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    paths.sort();
    paths
}

fn last(log: &str) -> Vec<String> {
    let is_telling =
        |line: &&str| !line.contains(r#""level":"INFO""#) || line.contains(r#""message":"Wrote""#);
    let lines: Vec<&str> = log.lines().filter(is_telling).collect();
    let last = &lines[lines.len().saturating_sub(LINES)..];
    last.iter().map(|line| line.chars().take(CHARS).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_that_matter_are_shown() {
        let line =
            |level: &str, message: &str| format!(r#"{{"level":"{level}","message":"{message}"}}"#);
        let mut log: Vec<_> = (0..20).map(|n| line("WARN", &format!("warning {n}"))).collect();
        log.extend([line("INFO", "state"), line("INFO", "Wrote"), line("ERROR", &"x".repeat(900))]);
        let last = last(&log.join("\n"));
        assert_eq!(last.len(), LINES);
        assert_eq!(last[..2], [line("WARN", "warning 12"), line("WARN", "warning 13")]);
        assert_eq!(last[8], line("INFO", "Wrote"));
        assert_eq!(last[9].len(), CHARS);
    }
}
