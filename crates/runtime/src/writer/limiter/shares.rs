//! How many slots one account may hold.
//!
//! Turns alone are fair to requests that wait, not to those that will: an account with many requests holds all slots when one of
//! another account comes, and has the API server busy with what it was asked. That is no harm as long as the API server answers
//! in time, or no other account is there. Otherwise each gets a share.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use fleet_plan::Account;

/// Who has asked so recently is there: endpoints of a Service in use change now and then, each time with a request or two.
const PRESENT: Duration = Duration::from_secs(10);

/// Who holds slots, and who is there.
#[derive(Debug, Default)]
pub(super) struct Shares {
    held: HashMap<Account, usize>,
    /// Who has asked last.
    latest: Option<(Account, Instant)>,
    /// When another account has.
    another: Option<Instant>,
}

impl Shares {
    /// A request on this account has come.
    pub(super) fn asked(&mut self, account: &Account, now: Instant) {
        let before = self.latest.replace((Account::clone(account), now));
        if let Some((last, at)) = before
            && last != *account
        {
            self.another = Some(at);
        }
    }

    /// Whether an account may hold one more slot where `share` is the most for each of several.
    pub(super) fn allows(&self, account: &Account, share: usize, now: Instant) -> bool {
        self.held.get(account).is_none_or(|held| *held < share) || self.is_alone(account, now)
    }

    fn is_alone(&self, account: &Account, now: Instant) -> bool {
        let latest = self.latest.iter().filter(|(last, _)| last != account).map(|(_, at)| *at);
        let mut others = latest.chain(self.another);
        others.all(|at| now.saturating_duration_since(at) > PRESENT)
    }

    /// An account has got a slot.
    pub(super) fn taken(&mut self, account: &Account) {
        *self.held.entry(Account::clone(account)).or_default() += 1;
    }

    /// A slot is free again.
    pub(super) fn returned(&mut self, account: &Account) {
        let Some(held) = self.held.get_mut(account) else { return };
        *held -= 1;
        if *held == 0 {
            self.held.remove(account);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARE: usize = 2;

    fn account(name: &str) -> Account {
        Account::from(name)
    }

    /// How many slots this account gets.
    fn most(shares: &mut Shares, name: &str, now: Instant) -> usize {
        let account = account(name);
        let taken = (0..10)
            .take_while(|_| {
                let allowed = shares.allows(&account, SHARE, now);
                if allowed {
                    shares.taken(&account);
                }
                allowed
            })
            .count();
        (0..taken).for_each(|_| shares.returned(&account));
        taken
    }

    #[test]
    fn who_is_alone_gets_all() {
        let (mut shares, now) = (Shares::default(), Instant::now());
        assert_eq!(most(&mut shares, "a", now), 10);
        for _ in 0..3 {
            shares.asked(&account("a"), now);
        }
        assert_eq!(most(&mut shares, "a", now), 10);
        assert!(shares.held.is_empty());
    }

    #[test]
    fn each_of_several_gets_a_share() {
        let (mut shares, now) = (Shares::default(), Instant::now());
        for name in ["quiet", "busy", "busy", "busy"] {
            shares.asked(&account(name), now);
        }
        assert_eq!(most(&mut shares, "busy", now), SHARE);
        assert_eq!(most(&mut shares, "quiet", now), SHARE);
    }

    #[test]
    fn who_has_not_asked_for_a_while_needs_no_room() {
        let (mut shares, start) = (Shares::default(), Instant::now());
        shares.asked(&account("quiet"), start);
        let still = start + PRESENT;
        shares.asked(&account("busy"), still);
        assert_eq!(most(&mut shares, "busy", still), SHARE);
        let later = still + Duration::from_millis(1);
        assert_eq!(most(&mut shares, "busy", later), 10);
        assert_eq!(most(&mut shares, "quiet", later), SHARE, "the busy one is there");
        shares.asked(&account("quiet"), later);
        assert_eq!(most(&mut shares, "busy", later), SHARE);
    }
}
