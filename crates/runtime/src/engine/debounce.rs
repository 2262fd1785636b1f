//! Steps that are sent only if plans keep containing them.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Instant;

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, ResourceKind};
use fleet_plan::Debounced;

/// Since when the plans of each key have contained which debounced steps without interruption.
#[derive(Debug)]
pub(super) struct Debouncer<K> {
    pending: HashMap<K, Vec<Pending>>,
}

/// Identity of a step across plans: the step itself may carry the time of planning.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Identity {
    purpose: &'static str,
    cluster: ClusterId,
    kind: ResourceKind,
    name: ObjectName,
}

#[derive(Debug)]
struct Pending {
    identity: Identity,
    since: Instant,
}

impl<K: Clone + Eq + Hash> Debouncer<K> {
    pub(super) fn new() -> Self {
        Self { pending: HashMap::new() }
    }

    /// Takes the debounced steps of the newest plan of `key`. Returns those whose delay is over, and the
    /// time to plan again for the rest. Steps that the plan no longer contains are forgotten.
    pub(super) fn sort(
        &mut self,
        key: &K,
        debounced: Vec<Debounced>,
        now: Instant,
    ) -> (Vec<Debounced>, Option<Instant>) {
        if debounced.is_empty() {
            self.pending.remove(key);
            return (Vec::new(), None);
        }
        let before = self.pending.remove(key).unwrap_or_default();
        let (mut ripe, mut wake, mut pending) = (Vec::new(), None, Vec::new());
        for item in debounced {
            let Debounced { delay, purpose, step, .. } = &item;
            let (cluster, kind, name) = (step.cluster, step.kind, step.name.clone());
            let identity = Identity { purpose, cluster, kind, name };
            let earlier = before.iter().find(|pending| pending.identity == identity);
            let since = earlier.map_or(now, |pending| pending.since);
            let due = since + *delay;
            if due <= now {
                ripe.push(item);
            } else {
                wake = Some(wake.map_or(due, |at: Instant| at.min(due)));
            }
            pending.push(Pending { identity, since });
        }
        self.pending.insert(key.clone(), pending);
        (ripe, wake)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fleet_api::kinds;
    use fleet_plan::{Action, Step};

    use super::*;

    const DELAY: Duration = Duration::from_millis(500);

    fn debounced(purpose: &'static str, name: &str) -> Debounced {
        let name = ObjectName::new("team", name);
        let step = Step::new(ClusterId::Local, kinds::SERVICE, name, Action::ConfirmAbsent);
        Debounced::new(DELAY, purpose, step)
    }

    #[test]
    fn a_step_is_sent_after_its_delay() {
        let mut debouncer = Debouncer::new();
        let start = Instant::now();
        let ask = |debouncer: &mut Debouncer<_>, at| {
            let (ripe, wake) = debouncer.sort(&"key", vec![debounced("waiting", "shop")], at);
            (ripe.len(), wake)
        };
        assert_eq!(ask(&mut debouncer, start), (0, Some(start + DELAY)));
        let soon = start + Duration::from_millis(300);
        assert_eq!(ask(&mut debouncer, soon), (0, Some(start + DELAY)));
        assert_eq!(ask(&mut debouncer, start + DELAY), (1, None));
        // Until it had an effect it stays due.
        assert_eq!(ask(&mut debouncer, start + DELAY), (1, None));
    }

    #[test]
    fn an_interruption_starts_the_delay_again() {
        let mut debouncer = Debouncer::new();
        let start = Instant::now();
        debouncer.sort(&"key", vec![debounced("waiting", "shop")], start);
        debouncer.sort(&"key", vec![], start + DELAY / 2);
        assert!(debouncer.pending.is_empty());
        let (ripe, wake) =
            debouncer.sort(&"key", vec![debounced("waiting", "shop")], start + DELAY);
        assert_eq!((ripe.len(), wake), (0, Some(start + 2 * DELAY)));
    }

    #[test]
    fn steps_of_other_purposes_names_and_keys_have_their_own_delay() {
        let mut debouncer = Debouncer::new();
        let start = Instant::now();
        debouncer.sort(&"key", vec![debounced("waiting", "shop")], start);
        let all = vec![
            debounced("waiting", "shop"),
            debounced("waiting", "other"),
            debounced("why", "shop"),
        ];
        let (ripe, wake) = debouncer.sort(&"key", all, start + DELAY);
        assert_eq!((ripe.len(), wake), (1, Some(start + 2 * DELAY)));
        assert_eq!(&*ripe[0].step.name.name, "shop");
        let (ripe, _) = debouncer.sort(&"other", vec![debounced("waiting", "shop")], start + DELAY);
        assert_eq!(ripe.len(), 0);
    }
}
