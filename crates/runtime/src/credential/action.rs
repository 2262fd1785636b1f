//! What the holder of a token does with it now. Pure.

use jiff::Timestamp;

use super::claims::Claims;
use super::clock::Clocks;
use super::renewal::{Renewal, TokenSettings, Unrenewable, renewal};
use super::standing::Standing;

/// What is known when a token is looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// What time it is, perhaps.
    pub(super) clocks: Clocks,
    /// What time it is at the API server, counted from the last token that it issued to this process; it is not wrong.
    pub(super) issuer: Option<Timestamp>,
    /// Whether the API server rejects the token.
    pub(super) is_rejected: bool,
    /// Whether this process may write.
    pub(super) leads: bool,
}

/// What is to be done with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// It stays as it is.
    Keep(Unrenewable),
    /// Nothing yet.
    Wait,
    /// It is renewed.
    Renew,
    /// Another one is looked for: it is no good, and there is nothing that it could be renewed with.
    Recover,
}

/// Decides about a token. It is renewed as long as the API server accepts it, even if it should have expired: the clocks may be
/// wrong.
pub(super) fn action(claims: Option<&Claims>, known: &Known, settings: &TokenSettings) -> Action {
    let standing = Standing::of(claims, known.clocks, known.is_rejected);
    match renewal(claims, settings) {
        Renewal::Due(at) if known.leads && !known.is_rejected && known.is_past(at) => Action::Renew,
        _ if !standing.is_good() => Action::Recover,
        Renewal::Due(_) => Action::Wait,
        Renewal::Never(why) => Action::Keep(why),
    }
}

impl Known {
    /// Without a time that is certain, one clock is enough: a renewal that comes too early does no harm, and makes it certain.
    fn is_past(&self, time: Timestamp) -> bool {
        self.issuer.map_or_else(|| self.clocks.one_is_past(time), |now| now >= time)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::claims::Account;
    use super::*;

    const HOUR: i64 = 3600;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    /// Of a day.
    fn claims() -> Claims {
        Claims {
            expires: Some(at(DAY)),
            issued: Some(at(0)),
            account: Some(Account { namespace: "a".into(), name: "b".into() }),
            audiences: vec!["hub".to_owned()],
        }
    }

    /// A process that leads, and whose token is accepted.
    fn known(own: i64, server: i64) -> Known {
        let clocks = Clocks { own: at(own), server: Some(at(server)) };
        Known { clocks, issuer: None, is_rejected: false, leads: true }
    }

    fn decide(claims: &Claims, known: Known) -> Action {
        let settings = TokenSettings { lifetime: Duration::from_hours(24), audiences: Vec::new() };
        action(Some(claims), &known, &settings)
    }

    #[test]
    fn a_token_is_renewed_when_it_is_time() {
        assert_eq!(decide(&claims(), known(HOUR - 1, HOUR - 1)), Action::Wait);
        assert_eq!(decide(&claims(), known(HOUR, HOUR)), Action::Renew);
    }

    #[test]
    fn a_wrong_clock_keeps_no_token_from_being_renewed() {
        for (own, server) in [(HOUR, YEAR), (HOUR, -YEAR), (YEAR, HOUR), (-YEAR, HOUR)] {
            assert_eq!(decide(&claims(), known(own, server)), Action::Renew, "{own} {server}");
        }
        let before_an_answer = Clocks { own: at(HOUR), server: None };
        let known = Known { clocks: before_an_answer, ..known(0, 0) };
        assert_eq!(decide(&claims(), known), Action::Renew);
    }

    /// The API server is lenient with clocks, and both of these may be wrong.
    #[test]
    fn a_token_that_is_accepted_is_renewed_even_if_it_should_have_expired() {
        assert_eq!(decide(&claims(), known(DAY, DAY)), Action::Renew);
        assert_eq!(decide(&claims(), known(YEAR, YEAR)), Action::Renew);
    }

    #[test]
    fn a_token_that_is_rejected_is_replaced_only() {
        for now in [0, HOUR, DAY] {
            let rejected = Known { is_rejected: true, ..known(now, now) };
            assert_eq!(decide(&claims(), rejected), Action::Recover, "{now}");
        }
    }

    /// Otherwise a clock that is ahead would let it be renewed without end.
    #[test]
    fn whose_token_was_renewed_knows_the_time() {
        let renewed = |issuer| Known { issuer: Some(at(issuer)), ..known(0, YEAR) };
        assert_eq!(decide(&claims(), renewed(HOUR - 1)), Action::Wait);
        assert_eq!(decide(&claims(), renewed(HOUR)), Action::Renew);
        let behind = Known { issuer: Some(at(HOUR)), ..known(-YEAR, -YEAR) };
        assert_eq!(decide(&claims(), behind), Action::Renew);
    }

    #[test]
    fn only_the_leader_renews() {
        let standby = |now| Known { leads: false, ..known(now, now) };
        assert_eq!(decide(&claims(), standby(HOUR)), Action::Wait);
        assert_eq!(decide(&claims(), standby(DAY)), Action::Recover);
        let alone_ahead = Known { leads: false, ..known(HOUR, YEAR) };
        assert_eq!(decide(&claims(), alone_ahead), Action::Wait);
    }

    #[test]
    fn what_cannot_be_renewed_is_kept_until_it_is_no_good() {
        let foreign = Claims { account: None, ..claims() };
        assert_eq!(decide(&foreign, known(HOUR, HOUR)), Action::Keep(Unrenewable::Foreign));
        assert_eq!(decide(&foreign, known(HOUR, YEAR)), Action::Keep(Unrenewable::Foreign));
        assert_eq!(decide(&foreign, known(DAY, DAY)), Action::Recover);
        let endless = Claims { expires: None, ..claims() };
        assert_eq!(decide(&endless, known(YEAR, YEAR)), Action::Keep(Unrenewable::Endless));
        let rejected = Known { is_rejected: true, ..known(0, 0) };
        assert_eq!(decide(&endless, rejected), Action::Recover);
    }
}
