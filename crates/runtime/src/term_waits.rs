//! Controllers that may write, and wait for lists begun in their term before they do.
//!
//! The process leads then, its Pod looks well, and nothing happens: a user who looks for the reason finds it in readiness,
//! in an Event and in the log.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::clock::monotonic;

/// A shorter wait is the usual begin of a term.
const NOTICED_AFTER: Duration = Duration::from_secs(10);

/// The controllers of a process that wait. Clones share them.
#[derive(Clone, Default)]
pub struct TermWaits(Arc<Mutex<BTreeMap<&'static str, Wait>>>);

struct Wait {
    since: Instant,
    outdated: Box<dyn Fn() -> Vec<String> + Send + Sync>,
}

impl TermWaits {
    /// The controller waits from `since` on, for the lists that `outdated` names, until the answer is dropped.
    pub(crate) fn begin(
        &self,
        controller: &'static str,
        since: Instant,
        outdated: impl Fn() -> Vec<String> + Send + Sync + 'static,
    ) -> TermWait {
        let wait = Wait { since, outdated: Box::new(outdated) };
        self.0.lock().insert(controller, wait);
        TermWait { waits: self.clone(), controller }
    }

    /// What a controller has waited for a while for, without the time.
    pub(crate) fn of(&self, controller: &str) -> Option<String> {
        self.0.lock().get(controller)?.lists().map(|(_, lists)| lists)
    }

    /// One sentence for each controller that has waited for a while. For readiness.
    pub fn reasons(&self) -> Vec<String> {
        let waits = self.0.lock();
        let reasons = waits.iter().filter_map(|(controller, wait)| {
            let (waited, lists) = wait.lists()?;
            let seconds = waited.as_secs();
            Some(format!("{controller} leads, but has waited for {seconds} s for {lists}"))
        });
        reasons.collect()
    }
}

impl Wait {
    /// How long it lasts, and what is missing; `None` if that is nothing unusual.
    fn lists(&self) -> Option<(Duration, String)> {
        let waited = monotonic().saturating_duration_since(self.since);
        if waited < NOTICED_AFTER {
            return None;
        }
        let outdated = (self.outdated)();
        let lists = || format!("a fresh list of {}", outdated.join(", "));
        (!outdated.is_empty()).then(|| (waited, lists()))
    }
}

/// The wait of one controller; over when dropped.
pub(crate) struct TermWait {
    waits: TermWaits,
    controller: &'static str,
}

impl Drop for TermWait {
    fn drop(&mut self) {
        self.waits.0.lock().remove(self.controller);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_wait_is_noticed_after_a_while_and_forgotten_at_its_end() {
        let waits = TermWaits::default();
        let lists = || vec!["services of the hub cluster".to_owned()];
        let wait = waits.begin("import", monotonic(), lists);
        let nothing_outdated = waits.begin("export", monotonic(), Vec::new);
        tokio::time::sleep(Duration::from_secs(9)).await;
        assert_eq!((waits.reasons().len(), waits.of("import")), (0, None));
        tokio::time::sleep(Duration::from_secs(31)).await;
        let list = "a fresh list of services of the hub cluster";
        assert_eq!(waits.reasons(), [format!("import leads, but has waited for 40 s for {list}")]);
        assert_eq!(waits.of("import").as_deref(), Some(list));
        assert_eq!(waits.of("export"), None);
        drop((wait, nothing_outdated));
        assert_eq!((waits.reasons().len(), waits.of("import")), (0, None));
    }
}
