//! Steps that are sent only if plans keep containing them.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Instant;

use fleet_accumulator::ClusterId;
use fleet_api::{ObjectName, ResourceKind};
use fleet_plan::{Debounced, Room};

/// Since when the plans of each key have contained which debounced steps without interruption.
#[derive(Debug)]
pub(super) struct Debouncer<K> {
    pending: HashMap<K, HashMap<Identity, Instant>>,
}

/// The debounced steps of a plan, by the time.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    /// Those whose delay is over, as many as are sent at once.
    pub(super) ripe: Vec<Debounced>,
    /// Whether there are more of these: the next plan has them again, and they have waited.
    pub(super) is_capped: bool,
    /// When to plan again for the rest.
    pub(super) wake: Option<Instant>,
}

/// Identity of a step across plans: the step itself may carry the time of planning.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Identity {
    purpose: &'static str,
    cluster: ClusterId,
    kind: ResourceKind,
    name: ObjectName,
}

impl<K: Clone + Eq + Hash> Debouncer<K> {
    pub(super) fn new() -> Self {
        Self { pending: HashMap::new() }
    }

    /// Takes the debounced steps of the newest plan of `key`, of which at most `limit` urgent and `limit` others are sent at once, like
    /// a plan's steps. Steps that the plan no longer contains are forgotten.
    pub(super) fn sort(
        &mut self,
        key: &K,
        debounced: Vec<Debounced>,
        now: Instant,
        limit: usize,
    ) -> Sorted {
        let before = self.pending.remove(key).unwrap_or_default();
        let mut sorted = Sorted::default();
        if debounced.is_empty() {
            return sorted;
        }
        let (mut room, mut pending) = (Room::of(limit), HashMap::with_capacity(debounced.len()));
        for item in debounced {
            let Debounced { delay, purpose, step, .. } = &item;
            let (cluster, kind, name) = (step.cluster, step.kind, step.name.clone());
            let identity = Identity { purpose, cluster, kind, name };
            let since = before.get(&identity).copied().unwrap_or(now);
            let due = since + *delay;
            if due > now {
                sorted.wake = Some(sorted.wake.map_or(due, |at| at.min(due)));
            } else if room.takes(step) {
                sorted.ripe.push(item);
            } else {
                sorted.is_capped = true;
            }
            pending.insert(identity, since);
        }
        self.pending.insert(key.clone(), pending);
        sorted
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fleet_api::kinds;
    use fleet_plan::{Action, Step};

    use super::*;

    const DELAY: Duration = Duration::from_millis(500);
    const MANY: usize = 512;

    fn debounced(purpose: &'static str, name: &str) -> Debounced {
        let name = ObjectName::new("team", name);
        let step = Step::new(ClusterId::Local, kinds::SERVICE, name, Action::ConfirmAbsent);
        Debounced::new(DELAY, purpose, step)
    }

    /// How many are sent, and when to plan again.
    fn sort(
        debouncer: &mut Debouncer<&'static str>,
        key: &'static str,
        steps: Vec<Debounced>,
        at: Instant,
    ) -> (usize, Option<Instant>) {
        let sorted = debouncer.sort(&key, steps, at, MANY);
        (sorted.ripe.len(), sorted.wake)
    }

    #[test]
    fn a_step_is_sent_after_its_delay() {
        let mut debouncer = Debouncer::new();
        let start = Instant::now();
        let ask = |debouncer: &mut Debouncer<_>, at| {
            sort(debouncer, "key", vec![debounced("waiting", "shop")], at)
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
        sort(&mut debouncer, "key", vec![debounced("waiting", "shop")], start);
        sort(&mut debouncer, "key", vec![], start + DELAY / 2);
        assert!(debouncer.pending.is_empty());
        let sorted = sort(&mut debouncer, "key", vec![debounced("waiting", "shop")], start + DELAY);
        assert_eq!(sorted, (0, Some(start + 2 * DELAY)));
    }

    #[test]
    fn steps_of_other_purposes_names_and_keys_have_their_own_delay() {
        let mut debouncer = Debouncer::new();
        let start = Instant::now();
        sort(&mut debouncer, "key", vec![debounced("waiting", "shop")], start);
        let all = vec![
            debounced("waiting", "shop"),
            debounced("waiting", "other"),
            debounced("why", "shop"),
        ];
        let sorted = debouncer.sort(&"key", all, start + DELAY, MANY);
        assert_eq!((sorted.ripe.len(), sorted.wake), (1, Some(start + 2 * DELAY)));
        assert_eq!(&*sorted.ripe[0].step.name.name, "shop");
        let other = vec![debounced("waiting", "shop")];
        assert_eq!(sort(&mut debouncer, "other", other, start + DELAY).0, 0);
    }

    /// As many as a hostile exporter can have: each is looked for once, and those that are left have waited for the next plan.
    #[test]
    fn many_are_sent_in_parts() {
        let (mut debouncer, start, limit) = (Debouncer::new(), Instant::now(), 50);
        let mut left: Vec<_> = (0..50_000).map(|at| at.to_string()).collect();
        let all = |left: &[String]| left.iter().map(|name| debounced("waiting", name)).collect();
        let sorted = debouncer.sort(&"key", all(&left), start, limit);
        assert!(sorted.ripe.is_empty() && !sorted.is_capped);
        left.truncate(120);
        for (sent, is_capped) in [(50, true), (50, true), (20, false)] {
            let sorted = debouncer.sort(&"key", all(&left), start + DELAY, limit);
            assert_eq!((sorted.ripe.len(), sorted.is_capped, sorted.wake), (sent, is_capped, None));
            left.drain(..sent);
        }
        let mut urgent = debounced("waiting", "urgent");
        urgent.step.urgent = true;
        let steps = vec![debounced("waiting", "one"), debounced("waiting", "two"), urgent];
        debouncer.sort(&"key", steps.clone(), start, 1);
        let sorted = debouncer.sort(&"key", steps, start + DELAY, 1);
        let names: Vec<_> = sorted.ripe.iter().map(|item| &*item.step.name.name).collect();
        assert_eq!((names, sorted.is_capped), (vec!["one", "urgent"], true));
    }
}
