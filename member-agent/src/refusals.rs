//! What the API server of this cluster has refused about Pods of other members, by the clock of this process.
//!
//! A write that is refused leaves nothing behind that a watch would show, and so nothing that a plan could be made of.

use std::collections::BTreeMap;
use std::time::Duration;

use fleet_runtime::clock::BootClock;
use fleet_virtual_node::executor::{Refused, retry_pause};
use parking_lot::Mutex;

/// A refusal that is older was of a Pod that is not tried any more.
const KEPT: Duration = Duration::from_mins(10);
/// How many are kept before old ones are looked for.
const MANY: usize = 1024;

/// What was refused about each Pod last.
#[derive(Debug)]
pub(crate) struct Refusals {
    clock: BootClock,
    last: Mutex<BTreeMap<String, Last>>,
}

#[derive(Debug)]
struct Last {
    message: String,
    at: Duration,
    in_a_row: u32,
}

impl Refusals {
    /// Nothing was refused.
    pub(crate) fn new(clock: BootClock) -> Self {
        Self { clock, last: Mutex::default() }
    }

    /// A write about the Pod of this import is refused now.
    pub(crate) fn refuse(&self, import: &str, message: &str) {
        let now = self.clock.now();
        let mut last = self.last.lock();
        if last.len() >= MANY {
            last.retain(|_, one| now.saturating_sub(one.at) < KEPT);
        }
        let in_a_row = last.get(import).map_or(0, |one| one.in_a_row).saturating_add(1);
        last.insert(import.to_owned(), Last { message: message.to_owned(), at: now, in_a_row });
    }

    /// All that was to be written about it was accepted.
    pub(crate) fn forget(&self, import: &str) {
        self.last.lock().remove(import);
    }

    /// What was refused about it last, if anything was since it was forgotten.
    pub(crate) fn of(&self, import: &str) -> Option<Refused> {
        let last = self.last.lock();
        let last = last.get(import)?;
        let since = self.clock.now().saturating_sub(last.at);
        let rest = retry_pause(last.in_a_row).saturating_sub(since);
        Some(Refused { message: last.message.clone(), rest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_until_it_is_accepted() {
        let clock = BootClock::by_hand();
        let refusals = Refusals::new(clock.clone());
        assert_eq!(refusals.of("a"), None);
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            refusals.refuse("a", "no");
            let rest = Duration::from_secs(seconds);
            assert_eq!(refusals.of("a"), Some(Refused { message: "no".to_owned(), rest }));
            clock.advance(rest);
            assert_eq!(refusals.of("a").map(|refused| refused.rest), Some(Duration::ZERO));
        }
        refusals.forget("a");
        refusals.refuse("a", "not again");
        assert_eq!(refusals.of("a").map(|refused| refused.rest), Some(Duration::from_secs(1)));
    }

    #[test]
    fn what_was_refused_long_ago_is_forgotten_where_there_is_much() {
        let clock = BootClock::by_hand();
        let refusals = Refusals::new(clock.clone());
        refusals.refuse("a", "no");
        clock.advance(KEPT);
        for at in 0..=MANY {
            refusals.refuse(&format!("b{at}"), "no");
        }
        assert_eq!(refusals.of("a"), None);
        assert!(refusals.of("b0").is_some());
    }
}
