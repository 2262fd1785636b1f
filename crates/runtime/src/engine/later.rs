//! Steps that are sent only if plans keep asking for them.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Instant;

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, ResourceKind};

use crate::plan::Later;

/// Since when each key has been asking for what, without interruption.
#[derive(Debug)]
pub(super) struct Postponed<K> {
    asked: HashMap<K, Vec<Asked>>,
}

/// What stays the same from plan to plan, while the step itself may carry the time of planning.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Identity {
    purpose: &'static str,
    cluster: ClusterId,
    kind: ResourceKind,
    name: ObjectName,
}

#[derive(Debug)]
struct Asked {
    identity: Identity,
    since: Instant,
}

impl<K: Clone + Eq + Hash> Postponed<K> {
    pub(super) fn new() -> Self {
        Self { asked: HashMap::new() }
    }

    /// Takes what the newest plan of `key` asks for. Returns what has waited long enough, and when
    /// to plan again for the rest. What the plan no longer asks for is forgotten.
    pub(super) fn sort(
        &mut self,
        key: &K,
        later: Vec<Later>,
        now: Instant,
    ) -> (Vec<Later>, Option<Instant>) {
        if later.is_empty() {
            self.asked.remove(key);
            return (Vec::new(), None);
        }
        let before = self.asked.remove(key).unwrap_or_default();
        let (mut ripe, mut wake, mut asked) = (Vec::new(), None, Vec::new());
        for item in later {
            let Later { delay, purpose, step, .. } = &item;
            let (cluster, kind, name) = (step.cluster, step.kind, step.name.clone());
            let identity = Identity { purpose, cluster, kind, name };
            let earlier = before.iter().find(|asked| asked.identity == identity);
            let since = earlier.map_or(now, |asked| asked.since);
            let due = since + *delay;
            if due <= now {
                ripe.push(item);
            } else {
                wake = Some(wake.map_or(due, |at: Instant| at.min(due)));
            }
            asked.push(Asked { identity, since });
        }
        self.asked.insert(key.clone(), asked);
        (ripe, wake)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fleet_api::kinds;

    use super::*;
    use crate::plan::{Action, Step};

    const DELAY: Duration = Duration::from_millis(500);

    fn later(purpose: &'static str, name: &str) -> Later {
        let name = ObjectName::new("team", name);
        let step = Step::new(ClusterId::Local, kinds::SERVICE, name, Action::ConfirmAbsent);
        Later { delay: DELAY, purpose, step, events: Vec::new() }
    }

    #[test]
    fn a_step_is_sent_after_its_delay() {
        let mut postponed = Postponed::new();
        let start = Instant::now();
        let ask = |postponed: &mut Postponed<_>, at| {
            let (ripe, wake) = postponed.sort(&"key", vec![later("waiting", "shop")], at);
            (ripe.len(), wake)
        };
        assert_eq!(ask(&mut postponed, start), (0, Some(start + DELAY)));
        let soon = start + Duration::from_millis(300);
        assert_eq!(ask(&mut postponed, soon), (0, Some(start + DELAY)));
        assert_eq!(ask(&mut postponed, start + DELAY), (1, None));
        // Until it had an effect it stays due.
        assert_eq!(ask(&mut postponed, start + DELAY), (1, None));
    }

    #[test]
    fn an_interruption_starts_the_delay_again() {
        let mut postponed = Postponed::new();
        let start = Instant::now();
        postponed.sort(&"key", vec![later("waiting", "shop")], start);
        postponed.sort(&"key", vec![], start + DELAY / 2);
        assert!(postponed.asked.is_empty());
        let (ripe, wake) = postponed.sort(&"key", vec![later("waiting", "shop")], start + DELAY);
        assert_eq!((ripe.len(), wake), (0, Some(start + 2 * DELAY)));
    }

    #[test]
    fn steps_of_other_purposes_names_and_keys_have_their_own_delay() {
        let mut postponed = Postponed::new();
        let start = Instant::now();
        postponed.sort(&"key", vec![later("waiting", "shop")], start);
        let all = vec![later("waiting", "shop"), later("waiting", "other"), later("why", "shop")];
        let (ripe, wake) = postponed.sort(&"key", all, start + DELAY);
        assert_eq!((ripe.len(), wake), (1, Some(start + 2 * DELAY)));
        assert_eq!(&*ripe[0].step.name.name, "shop");
        let (ripe, _) = postponed.sort(&"other", vec![later("waiting", "shop")], start + DELAY);
        assert_eq!(ripe.len(), 0);
    }
}
