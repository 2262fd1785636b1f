//! How many requests an API server gets at once, and who goes first.
//!
//! A semaphore with two lanes: a free slot goes to the urgent request that waits longest, and only
//! without one to another. Urgent requests are removals of endpoints: few, and traffic is being
//! lost until they are done.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// The slots of one API server.
#[derive(Debug)]
pub(super) struct RequestLimiter {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: usize,
    urgent: VecDeque<oneshot::Sender<Slot>>,
    normal: VecDeque<oneshot::Sender<Slot>>,
}

/// The right to send one request; free again when dropped.
#[derive(Debug)]
pub(super) struct Slot(
    /// `None` once it went to another request.
    Option<Arc<RequestLimiter>>,
);

impl RequestLimiter {
    pub(super) fn new(slots: usize) -> Arc<Self> {
        let (urgent, normal) = (VecDeque::new(), VecDeque::new());
        Arc::new(Self { state: Mutex::new(State { free: slots, urgent, normal }) })
    }

    /// Waits for a slot. Dropping the future gives up the place, or the slot if it was granted in
    /// the same moment.
    pub(super) async fn slot(self: &Arc<Self>, urgent: bool) -> Slot {
        let granted = {
            let mut state = self.state.lock();
            if state.free > 0 {
                state.free -= 1;
                return Slot(Some(Arc::clone(self)));
            }
            let (sender, receiver) = oneshot::channel();
            let lane = if urgent { &mut state.urgent } else { &mut state.normal };
            lane.push_back(sender);
            receiver
        };
        granted.await.expect("a waiting sender is dropped only after it was used")
    }

    /// Requests that wait.
    #[cfg(test)]
    fn waiting(&self) -> usize {
        let state = self.state.lock();
        state.urgent.len() + state.normal.len()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let Some(limiter) = self.0.take() else { return };
        let mut state = limiter.state.lock();
        loop {
            let next = state.urgent.pop_front().or_else(|| state.normal.pop_front());
            let Some(waiter) = next else {
                state.free += 1;
                return;
            };
            match waiter.send(Slot(Some(Arc::clone(&limiter)))) {
                Ok(()) => return,
                // That one was cancelled. Its slot must not be dropped here: that would lock again.
                Err(mut refused) => refused.0 = None,
            }
        }
    }
}

#[cfg(test)]
mod tests;
