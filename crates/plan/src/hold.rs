//! Plans without deletions.

use crate::plan::Plan;
use crate::step::{Action, Step};

impl<M> Plan<M> {
    /// Leaves the deletions out of the plan, with the steps that wait for one. Returns how many steps are held.
    pub fn hold_deletions(&mut self) -> usize {
        self.hold_deletions_except(|_| false)
    }

    /// The same, but for deletions that are to pass: what proves them is there.
    pub fn hold_deletions_except(&mut self, passes: impl Fn(&Step) -> bool) -> usize {
        let holds = |step: &Step| matches!(step.action, Action::Delete { .. }) && !passes(step);
        let before = self.debounced.len();
        self.debounced.retain(|debounced| !holds(&debounced.step));
        before - self.debounced.len() + self.retain(|step| !holds(step))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fleet_accumulator::ClusterId;
    use fleet_api::{ObjectName, kinds};
    use serde_json::json;

    use super::*;
    use crate::step::{Precondition, StepId};

    fn step(name: &str, action: Action) -> Step {
        Step::new(ClusterId::Hub, kinds::SERVICE, ObjectName::new("team", name), action)
    }

    fn delete(name: &str) -> Step {
        step(
            name,
            Action::Delete {
                at: Precondition { uid: "u".into(), version: "1".into() },
                grace_seconds: None,
            },
        )
    }

    fn create(name: &str) -> Step {
        step(name, Action::Create(json!({}).into()))
    }

    fn names<'a>(plan: &'a Plan<&'static str>) -> Vec<&'a str> {
        plan.steps.iter().map(|step| &*step.name.name).collect()
    }

    #[test]
    fn what_waits_for_a_deletion_is_held_with_it_and_the_rest_stands() {
        let mut plan = Plan::default();
        let gone = plan.push(delete("gone"));
        let first = plan.push(create("first"));
        let released = plan.push(create("released").after([gone]));
        let second = plan.push(create("second").after([first]));
        plan.push(create("last").after([released, second]));
        plan.push(create("third").after([second]));
        plan.debounce(Duration::ZERO, "waits", create("debounced").after([second]));
        plan.debounce(Duration::ZERO, "held", create("never").after([gone]));
        plan.measure("planned");
        plan.measure_after(released, "released");
        plan.measure_after(second, "second");
        assert_eq!(plan.hold_deletions(), 4);
        assert_eq!(names(&plan), ["first", "second", "third"]);
        let after = |step: &Step| step.after.iter().map(|id| id.index()).collect::<Vec<_>>();
        assert_eq!(plan.steps.iter().map(after).collect::<Vec<_>>(), [vec![], vec![0], vec![1]]);
        let [debounced] = plan.debounced.as_slice() else { panic!("{:?}", plan.debounced) };
        assert_eq!(after(&debounced.step), [1]);
        let measured: Vec<_> = plan
            .measurements
            .iter()
            .map(|measured| (measured.what, measured.after.map(StepId::index)))
            .collect();
        assert_eq!(measured, [("planned", None), ("second", Some(1))]);
    }

    #[test]
    fn what_is_to_pass_is_not_held() {
        let mut plan = Plan::default();
        let shown = plan.push(delete("shown"));
        let absent = plan.push(delete("absent"));
        plan.push(create("released").after([shown]));
        plan.push(create("never").after([shown, absent]));
        assert_eq!(plan.hold_deletions_except(|step| &*step.name.name == "shown"), 2);
        assert_eq!(names(&plan), ["shown", "released"]);
    }

    #[test]
    fn a_plan_without_deletions_stays_as_it_is() {
        let mut plan = Plan::<&str>::default();
        let first = plan.push(create("first"));
        plan.push(create("second").after([first]));
        let whole = plan.clone();
        assert_eq!(plan.hold_deletions(), 0);
        assert_eq!(plan, whole);
    }
}
