//! The part of a large plan that is sent at once.

use crate::plan::Plan;
use crate::step::Step;

/// How many steps are sent at once: so many urgent ones, and so many others.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    urgent: usize,
    others: usize,
}

impl Room {
    /// For `limit` steps of each.
    #[must_use]
    pub const fn of(limit: usize) -> Self {
        Self { urgent: limit, others: limit }
    }

    /// Whether there is a place for this one, which it then has.
    pub fn takes(&mut self, step: &Step) -> bool {
        let free = if step.urgent { &mut self.urgent } else { &mut self.others };
        let stays = *free > 0;
        *free -= usize::from(stays);
        stays
    }
}

impl<M> Plan<M> {
    /// Leaves out what is beyond `limit` urgent and `limit` other steps, with everything that waits for it: the next plan
    /// has it again. Returns whether anything was left out.
    ///
    /// What stays is a plan whose other steps have failed, so it does no harm.
    pub fn cap(&mut self, limit: usize) -> bool {
        if self.steps.len() <= limit {
            return false;
        }
        let mut room = Room::of(limit);
        self.retain(|step| room.takes(step)) > 0
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use fleet_accumulator::ClusterId;
    use fleet_api::{ObjectName, kinds};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::plan::Measured;
    use crate::step::{Action, Step, StepId};

    /// A step with a number as its name.
    fn step(number: usize, urgent: bool, after: Vec<StepId>) -> Step {
        let name = ObjectName::new("team", number.to_string());
        let step = Step::new(ClusterId::Hub, kinds::SERVICE, name, Action::ConfirmAbsent);
        Step { after, urgent, ..step }
    }

    fn number(step: &Step) -> usize {
        step.name.name.parse().unwrap()
    }

    /// Whether each step is urgent, and how far back the steps are that it waits for.
    fn shapes() -> impl Strategy<Value = Vec<(bool, Vec<usize>)>> {
        vec((any::<bool>(), vec(1..8_usize, 0..3)), 0..60)
    }

    proptest! {
        #[test]
        fn what_stays_waits_for_the_same_steps_as_before(shapes in shapes(), limit in 0..40_usize) {
            let mut plan = Plan::<usize>::default();
            for (at, (urgent, back)) in shapes.iter().enumerate() {
                let after = back.iter().filter_map(|back| at.checked_sub(*back)).map(StepId::at);
                let id = plan.push(step(at, *urgent, after.collect()));
                plan.measurements.push(Measured { after: Some(id), what: at });
            }
            let whole = plan.clone();
            let capped = plan.cap(limit);
            prop_assert_eq!(capped, plan.steps.len() < whole.steps.len());
            for kept in &plan.steps {
                let before = &whole.steps[number(kept)];
                let names = |plan: &Plan<usize>, step: &Step| -> Vec<usize> {
                    step.after.iter().map(|id| number(&plan.steps[id.index()])).collect()
                };
                prop_assert_eq!(names(&plan, kept), names(&whole, before));
                prop_assert_eq!(kept.urgent, before.urgent);
            }
            let measured = |measured: &Measured<usize>| {
                number(&plan.steps[measured.after.unwrap().index()]) == measured.what
            };
            prop_assert!(plan.measurements.iter().all(measured));
            prop_assert_eq!(plan.measurements.len(), plan.steps.len());
            if capped {
                for urgent in [true, false] {
                    let kept = plan.steps.iter().filter(|step| step.urgent == urgent).count();
                    prop_assert!(kept <= limit);
                }
            }
        }

        /// Executing the kept part again and again executes the whole plan.
        #[test]
        fn every_step_has_its_turn(shapes in shapes(), limit in 1..10_usize) {
            let mut open: Vec<usize> = (0..shapes.len()).collect();
            while !open.is_empty() {
                let mut plan = Plan::<Infallible>::default();
                for at in &open {
                    let (urgent, back) = &shapes[*at];
                    let wanted = back.iter().filter_map(|back| at.checked_sub(*back));
                    let after = wanted.filter_map(|wanted| open.binary_search(&wanted).ok());
                    plan.push(step(*at, *urgent, after.map(StepId::at).collect()));
                }
                plan.cap(limit);
                prop_assert!(!plan.steps.is_empty());
                open.retain(|at| !plan.steps.iter().any(|step| number(step) == *at));
            }
        }
    }

    #[test]
    fn a_debounced_step_goes_with_what_it_waits_for() {
        let mut plan = Plan::<Infallible>::default();
        let ids: Vec<_> = (0..3).map(|at| plan.push(step(at, false, Vec::new()))).collect();
        for (at, id) in ids.into_iter().enumerate() {
            plan.debounce(Duration::ZERO, "test", step(10 + at, false, vec![id]));
        }
        assert!(plan.cap(2));
        let left: Vec<_> = plan.debounced.iter().map(|it| number(&it.step)).collect();
        assert_eq!(left, [10, 11]);
    }
}
