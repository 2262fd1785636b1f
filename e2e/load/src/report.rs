//! What became of connections and datagrams, in windows of time.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// Length of a window.
pub const WINDOW: Duration = Duration::from_millis(100);

/// What became of the connections that ended in one window, or of the datagram that began it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// When it began, in milliseconds since 1970.
    pub at: u64,
    /// Answers by `cluster/pod`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<String, u64>,
    /// Failures by cause.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failures: BTreeMap<String, u64>,
    /// Answers that took longer than half a second.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub slow: u64,
    /// Whether it is the last one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Window {
    /// An empty one that begins now.
    pub fn begin() -> Self {
        Self { at: now(), ..Self::default() }
    }

    /// Counts an answer.
    pub(crate) fn answered(&mut self, who: String) {
        *self.answers.entry(who).or_default() += 1;
    }

    /// Counts a failure.
    pub(crate) fn failed(&mut self, cause: &str) {
        *self.failures.entry(cause.to_owned()).or_default() += 1;
    }

    /// Prints it as one line.
    pub fn print(&self) -> anyhow::Result<()> {
        writeln!(std::io::stdout().lock(), "{}", serde_json::to_string(self)?)?;
        Ok(())
    }

    /// Reads lines. The last one may be half written.
    pub fn parse(text: &str) -> Vec<Self> {
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

/// Milliseconds since 1970.
#[allow(clippy::disallowed_methods, reason = "tests compare it with the clock of the same machine")]
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_printed() {
        let window = Window {
            at: 7,
            answers: BTreeMap::from([("east/web-1".to_owned(), 3)]),
            failures: BTreeMap::from([("refused".to_owned(), 1)]),
            slow: 2,
            last: true,
        };
        let line = serde_json::to_string(&window).unwrap();
        assert_eq!(Window::parse(&format!("{line}\n{}", &line[..9])), [window]);
    }
}
