//! How late everything is because servers are busy: who waits for agents has to wait longer then.

use std::collections::BTreeMap;

use super::record::Micros;

/// Requests are looked at per second, so that a long record is read once.
const SECOND: Micros = 1_000_000;
/// An agent may have so many requests to wait for, one after the other, until the next write of a chain arrives: the watch event
/// that it follows, those that are sent before it, its own.
const IN_A_ROW: Micros = 4;
/// Seconds before a moment whose requests still show how busy servers are.
const BEFORE: Micros = 10;

/// The longest write of each second in which one was answered.
pub(super) struct Slowness(BTreeMap<Micros, Micros>);

impl Slowness {
    /// From the times at which writes were received and answered. Reads may be long for other reasons, as watches are.
    pub(super) fn of(writes: impl IntoIterator<Item = (Micros, Micros)>) -> Self {
        let mut longest = BTreeMap::new();
        for (received, answered) in writes {
            let known: &mut Micros = longest.entry(answered / SECOND).or_default();
            *known = (*known).max(answered - received);
        }
        Self(longest)
    }

    /// How much later than usual something may come between these times.
    pub(super) fn allowance(&self, from: Micros, to: Micros) -> Micros {
        let seconds = from / SECOND - BEFORE..=(to / SECOND).max(from / SECOND);
        IN_A_ROW * self.0.range(seconds).map(|(_, longest)| *longest).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_write_is_an_excuse_for_some_seconds() {
        let slowness =
            Slowness::of([(100 * SECOND, 101 * SECOND), (0, 5), (101 * SECOND, 101 * SECOND + 9)]);
        assert_eq!(slowness.allowance(102 * SECOND, 104 * SECOND), 4 * SECOND);
        assert_eq!(slowness.allowance(90 * SECOND, 101 * SECOND), 4 * SECOND);
        assert_eq!(slowness.allowance(120 * SECOND, 130 * SECOND), 0);
        assert_eq!(slowness.allowance(2 * SECOND, 3 * SECOND), 20);
    }
}
