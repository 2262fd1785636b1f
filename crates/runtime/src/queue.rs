//! Which keys still have to be planned, and when.
//!
//! Time comes in as a value and nothing waits. One [controller loop](crate::engine) owns a queue, so it has no lock; what
//! is [measured](Queue::measured) about it decides nothing. The rules:
//!
//! - a key waits at most once, however often it is added;
//! - a key is given out to one worker at a time; added meanwhile, it runs again afterwards;
//! - keys that are ready run in turn for those on whose [account](Account) they wait: one whose changes concern many keys
//!   delays the keys of others by one turn;
//! - a key that failed is tried again, ever more slowly, and is never forgotten;
//! - the *oldest* change that was not yet dealt with stays with the key, across retries.

mod backoff;
#[cfg(test)]
mod fairness;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::time::{Duration, Instant};

use fastrand::Rng;
use fleet_plan::{Account, common_account};

use crate::fair::FairQueue;
use crate::metrics::WorkQueue;

/// Retries at once that a key may take in a row before it has to slow down.
const EAGER_RETRIES: u32 = 5;
/// What planning on one account may [cost](Queue::charge) before the next one gets its turn, in microseconds.
const QUANTUM: u32 = 1_000;
/// The same as a time.
pub const TURN: Duration = Duration::from_micros(QUANTUM as u64);
/// On so many accounts a key waits at most: a thousand members may have changed something of one Service, and the key is
/// planned once.
const MAX_ACCOUNTS: usize = 16;

/// When a key is planned again after a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requeue {
    /// Not again: all steps of the plan succeeded.
    Forget,
    /// When it is its turn again: all steps succeeded, and the plan has more.
    Continue,
    /// At once: the plan was based on an old view that has caught up since. After a few times in a row
    /// like [`Requeue::Backoff`].
    Immediate,
    /// Exponential back-off from 0.1 s to 60 s.
    Backoff,
    /// Nothing will get better by itself: the longest back-off, unless the key is added again.
    MaxBackoff,
    /// After the pause that the server asked for; a change does not shorten it.
    After(Duration),
}

/// A key handed to a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job<K> {
    /// What to plan.
    pub key: K,
    /// On whose account.
    pub account: Account,
    /// When the oldest change arrived that was not dealt with yet. `None` if only a timer
    /// woke the key.
    pub since: Option<Instant>,
    /// How long the key was ready before a worker took it.
    pub waited: Duration,
    /// Failed runs in a row before this one.
    pub failures: u32,
}

/// Keys to plan. See the module for the rules.
#[derive(Debug)]
pub struct Queue<K> {
    entries: HashMap<K, Entry>,
    /// Keys that are ready, with the ticket of their entry. A key is in the line of each of its accounts.
    lines: FairQueue<Account, (K, u64)>,
    ready: usize,
    ticket: u64,
    timers: BTreeSet<(Instant, K)>,
    running: usize,
    rng: Rng,
    metrics: Option<WorkQueue>,
}

#[derive(Debug)]
struct Entry {
    state: State,
    /// Who waits for it; never empty.
    accounts: Vec<Account>,
    /// Oldest change not dealt with.
    since: Option<Instant>,
    /// Failed runs in a row.
    failures: u32,
    /// Retries at once in a row.
    eager: u32,
    /// No run before this, whatever is marked.
    floor: Option<Instant>,
}

#[derive(Debug)]
enum State {
    /// Waits for a timer that is in `timers` under this instant.
    Waiting(Instant),
    /// In `lines` with this ticket, since this instant.
    Ready(u64, Instant),
    /// With a worker since `taken`; `marked` if a change came since.
    Running { taken: Instant, marked: Option<Mark> },
}

/// A change that came while its key was with a worker.
#[derive(Clone, Copy, Debug)]
struct Mark {
    since: Instant,
    due: Instant,
}

impl<K: Clone + Ord + Hash> Queue<K> {
    /// An empty queue. Retries are spread with pseudo-random numbers that start at `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            entries: HashMap::new(),
            lines: FairQueue::new(QUANTUM),
            ready: 0,
            ticket: 0,
            timers: BTreeSet::new(),
            running: 0,
            rng: Rng::with_seed(seed),
            metrics: None,
        }
    }

    /// Measures what becomes of its keys.
    #[must_use]
    pub fn measured(mut self, metrics: Option<WorkQueue>) -> Self {
        self.metrics = metrics;
        self
    }

    /// Asks for a run of `key` because of a change that arrived at `since`.
    ///
    /// A change does not wait for the end of a back-off: it is tried at once, or within a second if
    /// the key failed just now, so that a key whose own writes wake it cannot spin.
    pub fn add(&mut self, key: K, since: Instant, now: Instant) {
        self.add_after(key, since, now, now);
    }

    /// [`add`](Self::add) because of a change that may wait until `due`, so that others come
    /// together with it. A key that has to run earlier for another reason does.
    pub fn add_after(&mut self, key: K, since: Instant, due: Instant, now: Instant) {
        self.add_for(&common_account(), key, since, due, now);
    }

    /// [`add_after`](Self::add_after) because of a change of `account`'s.
    pub fn add_for(
        &mut self,
        account: &Account,
        key: K,
        since: Instant,
        due: Instant,
        now: Instant,
    ) {
        let due = due.max(now);
        let Some(entry) = self.entries.get_mut(&key) else {
            let (failures, eager, floor) = (0, 0, None);
            let (state, accounts) = (State::Waiting(due), vec![Account::clone(account)]);
            let entry = Entry { state, accounts, since: Some(since), failures, eager, floor };
            self.entries.insert(key.clone(), entry);
            self.wait(key, due, now);
            return;
        };
        let is_new = entry.accounts.len() < MAX_ACCOUNTS && !entry.accounts.contains(account);
        if is_new {
            entry.accounts.push(Account::clone(account));
        }
        match &mut entry.state {
            State::Running { marked, .. } => {
                let before = marked.unwrap_or(Mark { since, due });
                let (since, due) = (before.since.min(since), before.due.min(due));
                *marked = Some(Mark { since, due });
            }
            State::Ready(ticket, _) => {
                entry.since = oldest(entry.since, Some(since));
                if is_new {
                    self.lines.push(account, (key, *ticket));
                }
            }
            State::Waiting(waits) => {
                entry.since = oldest(entry.since, Some(since));
                let earlier = entry.floor.map_or(due, |floor| floor.max(due)).min(*waits);
                self.timers.remove(&(*waits, key.clone()));
                self.wait(key, earlier, now);
            }
        }
    }

    /// Makes a key ready, or has it wait for its time.
    fn wait(&mut self, key: K, due: Instant, now: Instant) {
        let Some(entry) = self.entries.get_mut(&key) else { return };
        if due <= now {
            self.ticket += 1;
            entry.state = State::Ready(self.ticket, now);
            for account in &entry.accounts {
                self.lines.push(account, (key.clone(), self.ticket));
            }
            self.ready += 1;
            if let Some(metrics) = &self.metrics {
                metrics.add();
            }
        } else {
            entry.state = State::Waiting(due);
            self.timers.insert((due, key));
        }
    }

    /// Hands out a key that is ready: of the account whose turn it is, the one that has been ready for longest.
    pub fn take(&mut self, now: Instant) -> Option<Job<K>> {
        loop {
            let (account, (key, ticket)) = self.lines.pop()?;
            // It may have been handed out from the line of another account.
            let Some(entry) = self.entries.get_mut(&key) else { continue };
            let State::Ready(current, since) = entry.state else { continue };
            if current != ticket {
                continue;
            }
            let waited = now.saturating_duration_since(since);
            entry.state = State::Running { taken: now, marked: None };
            entry.accounts.clear();
            entry.accounts.push(Account::clone(&account));
            self.ready -= 1;
            self.running += 1;
            if let Some(metrics) = &self.metrics {
                metrics.take(now, waited);
            }
            return Some(Job {
                since: entry.since,
                waited,
                failures: entry.failures,
                account,
                key,
            });
        }
    }

    /// Charges the account of a job for the time that it took. Others get their turns before what it asks for next.
    pub fn charge(&mut self, account: &Account, took: Duration) {
        self.lines.charge(account, u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    }

    /// Takes a key back from a worker. With `wake`, the key is planned again at that time even if
    /// nothing changes; a wake-up asked for by an earlier run is forgotten.
    pub fn done(&mut self, key: &K, requeue: Requeue, wake: Option<Instant>, now: Instant) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        let State::Running { taken, marked } = entry.state else { return };
        self.running -= 1;
        if let Some(metrics) = &self.metrics {
            metrics.done(taken, now, !matches!(requeue, Requeue::Forget | Requeue::Continue));
        }

        let retry = match requeue {
            Requeue::Forget => {
                (entry.failures, entry.eager, entry.since, entry.floor) = (0, 0, None, None);
                None
            }
            Requeue::Continue => {
                (entry.failures, entry.eager, entry.floor) = (0, 0, None);
                Some(now)
            }
            Requeue::Immediate if entry.eager < EAGER_RETRIES => {
                entry.eager += 1;
                entry.floor = None;
                Some(now)
            }
            Requeue::Immediate | Requeue::Backoff => {
                let delay = backoff::spread(backoff::delay(entry.failures), &mut self.rng);
                entry.floor = Some(now + delay.min(backoff::CHANGE_FLOOR));
                entry.failures = entry.failures.saturating_add(1);
                Some(now + delay)
            }
            Requeue::MaxBackoff => {
                let floor = backoff::delay(entry.failures).min(backoff::CHANGE_FLOOR);
                entry.floor = Some(now + floor);
                entry.failures = entry.failures.saturating_add(1);
                Some(now + backoff::spread(backoff::MAX, &mut self.rng))
            }
            Requeue::After(delay) => {
                entry.failures = entry.failures.saturating_add(1);
                entry.floor = Some(now + delay);
                // Later than asked for, never earlier: all keys held by one server would come
                // back in the same instant otherwise.
                Some(now + delay + backoff::spread(delay / 4, &mut self.rng))
            }
        };
        entry.since = oldest(entry.since, marked.map(|mark| mark.since));

        let change = marked.map(|mark| entry.floor.map_or(mark.due, |floor| floor.max(mark.due)));
        let wake = wake.map(|at| entry.floor.map_or(at, |floor| at.max(floor)));
        let due = [retry, change, wake].into_iter().flatten().min();
        match due {
            None => {
                self.entries.remove(key);
            }
            Some(due) => self.wait(key.clone(), due, now),
        }
    }

    /// Makes every key ready whose time has come.
    pub fn advance(&mut self, now: Instant) {
        while self.timers.first().is_some_and(|(due, _)| *due <= now) {
            let Some((due, key)) = self.timers.pop_first() else { return };
            self.wait(key, due, now);
        }
    }

    /// Something that made keys fail may be over: tries every key again that failed, after at most
    /// a second. Pauses that a server asked for stay.
    pub fn hurry(&mut self, now: Instant) {
        let failed = |key: &K| Some((self.entries.get(key)?.floor?, key.clone()));
        let failed: Vec<_> = self.timers.iter().filter_map(|(_, key)| failed(key)).collect();
        for (floor, key) in failed {
            let Some(entry) = self.entries.get_mut(&key) else { continue };
            let State::Waiting(due) = &mut entry.state else { continue };
            self.timers.remove(&(*due, key.clone()));
            *due = floor.max(now).min(*due);
            self.timers.insert((*due, key));
        }
        self.advance(now);
    }

    /// When [`advance`](Self::advance) has something to do next.
    pub fn next_timer(&self) -> Option<Instant> {
        self.timers.first().map(|(due, _)| *due)
    }

    /// Keys that could run now.
    pub fn ready(&self) -> usize {
        self.ready
    }

    /// Keys that wait for a timer.
    pub fn waiting(&self) -> usize {
        self.timers.len()
    }

    /// Keys that workers hold.
    pub fn running(&self) -> usize {
        self.running
    }
}

impl<K> Drop for Queue<K> {
    /// A controller that stands by has no queue.
    fn drop(&mut self) {
        if let Some(metrics) = &self.metrics {
            metrics.clear();
        }
    }
}

fn oldest(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
