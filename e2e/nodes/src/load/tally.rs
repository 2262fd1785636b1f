//! What became of many calls.

use std::collections::BTreeMap;
use std::fmt;

use fleet_load::report::Window;

use super::moment::Moment;

/// Windows of a client, and what is counted in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    windows: Vec<Window>,
}

impl Tally {
    pub(super) fn new(windows: Vec<Window>) -> Self {
        Self { windows }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.windows.last().is_some_and(|window| window.last)
    }

    /// Only those windows that began at or after a moment.
    #[must_use]
    pub fn since(&self, moment: Moment) -> Self {
        let windows = self.windows.iter().filter(|one| one.at >= moment.milliseconds());
        Self { windows: windows.cloned().collect() }
    }

    /// Only those windows that began before a moment.
    #[must_use]
    pub fn before(&self, moment: Moment) -> Self {
        let windows = self.windows.iter().filter(|one| one.at < moment.milliseconds());
        Self { windows: windows.cloned().collect() }
    }

    /// Calls that have ended.
    pub fn all(&self) -> u64 {
        self.answered() + self.failed()
    }

    /// Calls that were answered.
    pub fn answered(&self) -> u64 {
        self.windows.iter().flat_map(|window| window.answers.values()).sum()
    }

    /// Calls that failed.
    pub fn failed(&self) -> u64 {
        self.windows.iter().flat_map(|window| window.failures.values()).sum()
    }

    /// Calls that failed for one cause.
    pub fn failed_with(&self, cause: &str) -> u64 {
        self.windows.iter().filter_map(|window| window.failures.get(cause)).sum()
    }

    /// Answers of a cluster.
    pub fn of(&self, cluster: &str) -> u64 {
        self.by_cluster().get(cluster).copied().unwrap_or(0)
    }

    /// Answers by cluster.
    pub fn by_cluster(&self) -> BTreeMap<String, u64> {
        let mut all: BTreeMap<String, u64> = BTreeMap::new();
        for (who, count) in self.windows.iter().flat_map(|window| &window.answers) {
            let cluster = who.split('/').next().unwrap_or_default();
            *all.entry(cluster.to_owned()).or_default() += count;
        }
        all
    }

    /// Number of Pods that have answered.
    pub fn pods(&self) -> usize {
        let answers = self.windows.iter().flat_map(|window| window.answers.keys());
        answers.collect::<std::collections::BTreeSet<_>>().len()
    }

    /// Beginning of the last window with an answer of a cluster.
    pub fn last_of(&self, cluster: &str) -> Option<Moment> {
        let has = |window: &&Window| {
            window.answers.keys().any(|who| who.split('/').next() == Some(cluster))
        };
        self.windows.iter().rev().find(has).map(|window| Moment::of(window.at))
    }

    /// Beginning of the first window with an answer of a cluster.
    pub fn first_of(&self, cluster: &str) -> Option<Moment> {
        let has = |window: &&Window| {
            window.answers.keys().any(|who| who.split('/').next() == Some(cluster))
        };
        self.windows.iter().find(has).map(|window| Moment::of(window.at))
    }

    fn failures(&self) -> BTreeMap<&str, u64> {
        let mut all: BTreeMap<&str, u64> = BTreeMap::new();
        for (cause, count) in self.windows.iter().flat_map(|window| &window.failures) {
            *all.entry(cause).or_default() += count;
        }
        all
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slow: u64 = self.windows.iter().map(|window| window.slow).sum();
        write!(f, "{} calls: {:?}, slow {slow}", self.all(), self.by_cluster())?;
        if self.failed() > 0 { write!(f, ", failed {:?}", self.failures()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_cluster_and_time() {
        let window = |at, who: &str, count| Window {
            at,
            answers: BTreeMap::from([(who.to_owned(), count)]),
            ..Window::default()
        };
        let failed = Window {
            at: 3,
            failures: BTreeMap::from([("refused".to_owned(), 2)]),
            ..Window::default()
        };
        let windows =
            vec![window(1, "east/a", 5), window(2, "east/b", 6), failed, window(4, "west/a", 7)];
        let tally = Tally::new(windows);
        assert_eq!((tally.all(), tally.failed(), tally.of("east"), tally.pods()), (20, 2, 11, 3));
        assert_eq!(
            tally.since(Moment::of(3)).by_cluster(),
            BTreeMap::from([("west".to_owned(), 7)])
        );
        assert_eq!(tally.before(Moment::of(2)).answered(), 5);
        assert_eq!(
            (tally.last_of("east"), tally.first_of("west")),
            (Some(Moment::of(2)), Some(Moment::of(4)))
        );
        assert_eq!(tally.failed_with("refused"), 2);
    }
}
