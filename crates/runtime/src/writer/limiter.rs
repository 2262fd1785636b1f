//! How many requests an API server gets at once, and who goes first.
//!
//! A semaphore with two lanes. Urgent requests are removals of endpoints: traffic is being lost until they are done. While
//! both lanes wait, they get most of the free slots, but not all: however many there are, the others go on. Within a lane,
//! slots go in turn to those on whose account requests wait, so that one with many delays none with few. An API server that
//! refuses requests gets fewer of them, see [`pace`], and so does one that answers late, see [`latency`]; then each account holds
//! a share of them at most while others are there, see [`shares`].

mod latency;
mod pace;
mod shares;

use std::sync::Arc;
use std::time::{Duration, Instant};

use fleet_plan::{Account, Step};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::clock::monotonic;
use crate::fair::FairQueue;
use latency::Latency;
pub(super) use latency::RequestType;
use pace::Pace;
use shares::Shares;

/// So many urgent requests go in a row while others wait.
const URGENT_IN_A_ROW: u32 = 4;
/// A request costs its turn, and another one for each [`TURN_BYTES`].
const QUANTUM: u32 = 1;
/// So much is sent for one turn.
const TURN_BYTES: usize = 16 << 10;

/// The slots of one API server.
#[derive(Debug)]
pub(super) struct RequestLimiter {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    under_way: usize,
    pace: Pace,
    latency: Latency,
    shares: Shares,
    urgent: Lane,
    normal: Lane,
    /// Urgent requests in a row that went while others waited.
    in_a_row: u32,
}

type Lane = FairQueue<Account, oneshot::Sender<Slot>>;

/// The right to send one request; free again when dropped.
#[derive(Debug)]
pub(super) struct Slot {
    /// `None` if no request waits for it any more.
    limiter: Option<Arc<RequestLimiter>>,
    /// Who holds it.
    account: Account,
    /// See [`Pace::round`].
    round: u64,
}

impl RequestLimiter {
    pub(super) fn new(slots: usize) -> Arc<Self> {
        let (urgent, normal) = (Lane::new(QUANTUM), Lane::new(QUANTUM));
        let (pace, latency) = (Pace::new(slots), Latency::new(slots));
        let shares = Shares::default();
        let state = State { under_way: 0, pace, latency, shares, urgent, normal, in_a_row: 0 };
        Arc::new(Self { state: Mutex::new(state) })
    }

    /// Waits for a slot. Dropping the future gives up the place, or the slot if it was granted in
    /// the same moment.
    pub(super) async fn slot(self: &Arc<Self>, account: &Account, urgent: bool) -> Slot {
        let granted = {
            let mut state = self.state.lock();
            let now = monotonic();
            state.shares.asked(account, now);
            if state.waiting() == 0 && state.may_send(now) && state.has_room(account, now) {
                return self.next_slot(&mut state, account);
            }
            let (sender, receiver) = oneshot::channel();
            let lane = if urgent { &mut state.urgent } else { &mut state.normal };
            lane.push(account, sender);
            // The end of a pause may have come, and not be noticed yet.
            self.grant(&mut state);
            receiver
        };
        granted.await.expect("a waiting sender is dropped only after it was used")
    }

    fn next_slot(self: &Arc<Self>, state: &mut State, account: &Account) -> Slot {
        state.under_way += 1;
        state.shares.taken(account);
        let account = Account::clone(account);
        Slot { limiter: Some(Arc::clone(self)), account, round: state.pace.round() }
    }

    /// Gives slots to requests that wait, as far as there are any.
    fn grant(self: &Arc<Self>, state: &mut State) {
        let now = monotonic();
        while state.may_send(now) {
            let Some((account, waiter)) = state.next(now) else { return };
            if let Err(mut unwanted) = waiter.send(self.next_slot(state, &account)) {
                // That one was cancelled. Its slot must not be dropped here: that would lock again.
                unwanted.limiter = None;
                state.returned(&account);
            }
        }
    }

    /// Gives slots to requests that wait once a pause is over.
    fn resume_at(self: &Arc<Self>, at: Instant) {
        let limiter = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep_until(at.into()).await;
            if let Some(limiter) = limiter.upgrade() {
                limiter.grant(&mut limiter.state.lock());
            }
        });
    }

    /// Charges the account of a step for the size of its request: a turn covers one of [`TURN_BYTES`].
    pub(super) fn charge(&self, step: &Step, bytes: usize) {
        let mut state = self.state.lock();
        let lane = if step.urgent { &mut state.urgent } else { &mut state.normal };
        lane.charge(&step.account, u64::try_from(bytes / TURN_BYTES).unwrap_or(u64::MAX));
    }

    /// Requests that wait.
    #[cfg(test)]
    fn waiting(&self) -> usize {
        self.state.lock().waiting()
    }
}

impl State {
    fn waiting(&self) -> usize {
        self.urgent.len() + self.normal.len()
    }

    fn may_send(&self, now: Instant) -> bool {
        self.latency.allows(self.under_way) && self.pace.allows(self.under_way, now)
    }

    /// Whether an account holds less than its share.
    fn has_room(&self, account: &Account, now: Instant) -> bool {
        let share = self.latency.share();
        share.is_none_or(|share| self.shares.allows(account, share, now))
    }

    fn returned(&mut self, account: &Account) {
        self.under_way -= 1;
        self.shares.returned(account);
    }

    /// The request that gets the next free slot, and on whose account.
    fn next(&mut self, now: Instant) -> Option<(Account, oneshot::Sender<Slot>)> {
        let both_wait = self.urgent.len() > 0 && self.normal.len() > 0;
        let urgent_first = !both_wait || self.in_a_row < URGENT_IN_A_ROW;
        self.in_a_row = if both_wait && urgent_first { self.in_a_row + 1 } else { 0 };
        let (share, shares) = (self.latency.share(), &self.shares);
        let has_room =
            |account: &Account| share.is_none_or(|share| shares.allows(account, share, now));
        let (first, second) = if urgent_first {
            (&mut self.urgent, &mut self.normal)
        } else {
            (&mut self.normal, &mut self.urgent)
        };
        first.pop_of(has_room).or_else(|| second.pop_of(has_room))
    }
}

impl Slot {
    /// The API server has refused the request, and asks for a pause. Returns whether that ends its full pace.
    pub(super) fn refused(&self, pause: Duration) -> bool {
        let Some(limiter) = &self.limiter else { return false };
        let mut state = limiter.state.lock();
        let was_full = state.pace.is_full();
        if let Some(at) = state.pace.refused(self.round, pause, monotonic()) {
            limiter.resume_at(at);
        }
        was_full && !state.pace.is_full()
    }

    /// The API server has answered otherwise. Returns whether it has its full pace again.
    pub(super) fn answered(&self) -> bool {
        let Some(limiter) = &self.limiter else { return false };
        let mut state = limiter.state.lock();
        let was_full = state.pace.is_full();
        state.pace.answered();
        !was_full && state.pace.is_full()
    }

    /// The API server has done what the request asks for; it was sent at `sent`.
    pub(super) fn served(&self, request: RequestType, sent: Instant) {
        let Some(limiter) = &self.limiter else { return };
        let now = monotonic();
        let took = now.saturating_duration_since(sent);
        limiter.state.lock().latency.served(request, took, now);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let Some(limiter) = self.limiter.take() else { return };
        let mut state = limiter.state.lock();
        state.returned(&self.account);
        limiter.grant(&mut state);
    }
}

#[cfg(test)]
mod tests;
