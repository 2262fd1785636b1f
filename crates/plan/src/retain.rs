//! Parts of plans.

use crate::plan::Plan;
use crate::step::{Step, StepId};

impl<M> Plan<M> {
    /// Leaves out the steps that are not to be kept, with everything that waits for one of them. `keep` is asked about
    /// steps alone that wait for none of those. Returns how many steps are left out, debounced ones included.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&Step) -> bool) -> usize {
        let before = self.steps.len() + self.debounced.len();
        // Where each step is now; `None` for one that is left out.
        let mut places = Vec::with_capacity(self.steps.len());
        for mut step in std::mem::take(&mut self.steps) {
            let stays = moved(&mut step.after, &places) && keep(&step);
            places.push(stays.then(|| StepId::at(self.steps.len())));
            if stays {
                self.steps.push(step);
            }
        }
        self.debounced.retain_mut(|debounced| moved(&mut debounced.step.after, &places));
        self.measurements.retain_mut(|measured| match &mut measured.after {
            Some(step) => moved(std::slice::from_mut(step), &places),
            None => true,
        });
        before - self.steps.len() - self.debounced.len()
    }
}

/// Moves references to steps to their new places; false if one is left out.
fn moved(steps: &mut [StepId], places: &[Option<StepId>]) -> bool {
    steps.iter_mut().all(|step| {
        let place = places[step.index()];
        *step = place.unwrap_or(*step);
        place.is_some()
    })
}
