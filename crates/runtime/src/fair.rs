//! What waits for a common resource, served in turn for those on whose account it waits.
//!
//! A deficit round robin: each account has a line of its own, and each turn earns it a quantum of credit. What was taken
//! costs credit, and an account in debt is passed over until its turns have paid for that. The cost may be known only
//! afterwards, so an account can run into debt, but not beyond [`MOST_DEBT`] quanta; a debt outlives an empty line, and ends
//! when nothing waits any more. So who asks for little is served after at most one turn of each of the others, however much
//! they ask for.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// Quanta of debt at most: turns that an account is passed over.
const MOST_DEBT: i64 = 64;

/// Lines of waiting items, by account.
#[derive(Debug)]
pub(crate) struct FairQueue<A, T> {
    /// Accounts with waiting items or debts.
    lines: HashMap<A, Line<T>>,
    /// The same accounts, in the order of their turns.
    turns: VecDeque<A>,
    quantum: i64,
    waiting: usize,
}

#[derive(Debug)]
struct Line<T> {
    items: VecDeque<T>,
    credit: i64,
}

impl<A: Clone + Eq + Hash, T> FairQueue<A, T> {
    /// An empty queue that gives each account `quantum` per turn.
    pub(crate) fn new(quantum: u32) -> Self {
        let quantum = i64::from(quantum.max(1));
        Self { lines: HashMap::new(), turns: VecDeque::new(), quantum, waiting: 0 }
    }

    /// Adds an item to the end of its account's line.
    pub(crate) fn push(&mut self, account: &A, item: T) {
        self.waiting += 1;
        if let Some(line) = self.lines.get_mut(account) {
            line.items.push_back(item);
            return;
        }
        let line = Line { items: VecDeque::from([item]), credit: self.quantum };
        self.lines.insert(account.clone(), line);
        self.turns.push_back(account.clone());
    }

    /// The next item, at a cost of 1; [`charge`](Self::charge) adds to that.
    pub(crate) fn pop(&mut self) -> Option<(A, T)> {
        self.pop_of(|_| true)
    }

    /// The next item of the accounts that may have one.
    pub(crate) fn pop_of(&mut self, may: impl Fn(&A) -> bool) -> Option<(A, T)> {
        if self.waiting == 0 {
            // No account has waited for what is not paid.
            self.lines.clear();
            self.turns.clear();
            return None;
        }
        // Otherwise the turns would go round for ever.
        self.lines.iter().find(|(account, line)| !line.items.is_empty() && may(account))?;
        loop {
            let account = self.turns.front()?.clone();
            let line = self.lines.get_mut(&account)?;
            if line.credit > 0
                && may(&account)
                && let Some(item) = line.items.pop_front()
            {
                line.credit -= 1;
                self.waiting -= 1;
                return Some((account, item));
            }
            self.turns.pop_front();
            line.credit = (line.credit + self.quantum).min(self.quantum);
            if line.items.is_empty() && line.credit > 0 {
                self.lines.remove(&account);
            } else {
                self.turns.push_back(account);
            }
        }
    }

    /// Charges an account for what was taken from its line.
    pub(crate) fn charge(&mut self, account: &A, cost: u64) {
        let least = -MOST_DEBT * self.quantum;
        if let Some(line) = self.lines.get_mut(account) {
            let cost = i64::try_from(cost).unwrap_or(i64::MAX);
            line.credit = line.credit.saturating_sub(cost).max(least);
        }
    }

    /// Number of waiting items.
    pub(crate) fn len(&self) -> usize {
        self.waiting
    }
}
