//! When a token is renewed, and whether a new one may replace it. Pure.

use std::fmt;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::claims::Claims;

/// How often a token is renewed, if it lives long enough.
const EVERY: SignedDuration = SignedDuration::from_hours(1);

/// What tokens are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenSettings {
    /// How long they are to be valid. An API server may shorten it.
    pub lifetime: Duration,
    /// Servers that they are for; if there are none, the API server's own.
    pub audiences: Vec<String>,
}

/// What is to be done with the token in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// It cannot be renewed.
    Never(Unrenewable),
    /// It is renewed at this time.
    Due(Timestamp),
    /// It has expired, so nothing can be done with it.
    Expired(Timestamp),
}

/// Why a token is not renewed by its holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unrenewable {
    /// It is none that has claims.
    Opaque,
    /// It never expires.
    Endless,
    /// It is not that of a service account.
    Foreign,
}

impl fmt::Display for Unrenewable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Opaque => "it is not a token of a ServiceAccount",
            Self::Endless => "it never expires",
            Self::Foreign => "it is not the token of a ServiceAccount of the hub",
        })
    }
}

/// Decides about a token.
///
/// A token is renewed an hour after it was issued, or when half of its time is over if that is earlier. One that lives longer than
/// what would replace it is kept until a new one would expire later.
pub fn renewal(claims: Option<&Claims>, now: Timestamp, settings: &TokenSettings) -> Renewal {
    let Some(claims) = claims else { return Renewal::Never(Unrenewable::Opaque) };
    let Some(expires) = claims.expires else { return Renewal::Never(Unrenewable::Endless) };
    if expires <= now {
        return Renewal::Expired(expires);
    }
    if claims.account.is_none() {
        return Renewal::Never(Unrenewable::Foreign);
    }
    let lifetime = SignedDuration::try_from(settings.lifetime).unwrap_or(SignedDuration::MAX);
    let granted = claims.issued.map(|issued| expires.duration_since(issued));
    let lifetime =
        granted.map_or(lifetime, |granted| granted.min(lifetime)).max(SignedDuration::ZERO);
    let left = lifetime - EVERY.min(lifetime / 2);
    Renewal::Due(expires.saturating_sub(left).unwrap_or(Timestamp::MIN))
}

/// Whether a new token may replace an old one.
///
/// # Errors
/// Why not.
pub(super) fn replaces(
    new: Option<&Claims>,
    old: &Claims,
    settings: &TokenSettings,
    now: Timestamp,
) -> Result<(), &'static str> {
    let new = new.ok_or("it cannot be read")?;
    let wanted = settings.audiences.iter().all(|audience| new.audiences.contains(audience));
    if new.account != old.account {
        Err("it is that of another ServiceAccount")
    } else if new.audiences.is_empty() || !wanted {
        Err("it is for other audiences")
    } else if new.expires.is_some_and(|expires| expires <= now) {
        Err("it has expired")
    } else if !outlives(new, old) {
        Err("it does not expire later than the one in use")
    } else {
        Ok(())
    }
}

/// Whether a token expires later than another one.
pub(super) fn outlives(one: &Claims, other: &Claims) -> bool {
    match (one.expires, other.expires) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(one), Some(other)) => one > other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::claims::Account;
    use super::*;

    const HOUR: i64 = 3600;
    const DAY: i64 = 24 * HOUR;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    fn settings() -> TokenSettings {
        TokenSettings { lifetime: Duration::from_hours(24), audiences: Vec::new() }
    }

    fn claims(issued: i64, expires: i64) -> Claims {
        Claims {
            expires: Some(at(expires)),
            issued: Some(at(issued)),
            account: Some(Account {
                namespace: "fleet-member-east".into(),
                name: "member-agent".into(),
            }),
            audiences: vec!["hub".to_owned()],
        }
    }

    fn decide(claims: &Claims, now: i64) -> Renewal {
        renewal(Some(claims), at(now), &settings())
    }

    #[test]
    fn a_token_is_renewed_after_an_hour() {
        assert_eq!(decide(&claims(0, DAY), 0), Renewal::Due(at(HOUR)));
        assert_eq!(decide(&claims(0, DAY), 5 * HOUR), Renewal::Due(at(HOUR)));
    }

    #[test]
    fn a_short_token_is_renewed_at_half_of_its_time() {
        assert_eq!(decide(&claims(0, 600), 0), Renewal::Due(at(300)));
        assert_eq!(decide(&claims(0, HOUR), 0), Renewal::Due(at(HOUR / 2)));
        // What an API server has shortened: not again at once.
        assert_eq!(decide(&claims(100, 100 + 2 * HOUR), 100), Renewal::Due(at(100 + HOUR)));
    }

    /// A token of a year, as `fleetctl join` made it before, is not replaced by one of a day.
    #[test]
    fn a_longer_token_is_kept_until_a_new_one_expires_later() {
        let year = claims(0, 365 * DAY);
        assert_eq!(decide(&year, DAY), Renewal::Due(at(364 * DAY + HOUR)));
        let without = Claims { issued: None, ..year };
        assert_eq!(decide(&without, DAY), Renewal::Due(at(364 * DAY + HOUR)));
    }

    #[test]
    fn a_token_that_has_expired_is_not_renewed() {
        assert_eq!(decide(&claims(0, 10), 10), Renewal::Expired(at(10)));
        assert_eq!(decide(&claims(0, 10), 9), Renewal::Due(at(5)));
        let foreign = Claims { account: None, ..claims(0, 10) };
        assert_eq!(decide(&foreign, 10), Renewal::Expired(at(10)));
    }

    #[test]
    fn what_cannot_be_renewed_is_left_alone() {
        assert_eq!(renewal(None, at(0), &settings()), Renewal::Never(Unrenewable::Opaque));
        let endless = Claims { expires: None, ..claims(0, 0) };
        assert_eq!(decide(&endless, 0), Renewal::Never(Unrenewable::Endless));
        let foreign = Claims { account: None, ..claims(0, DAY) };
        assert_eq!(decide(&foreign, 0), Renewal::Never(Unrenewable::Foreign));
    }

    #[test]
    fn odd_times_do_no_harm() {
        // Issued after its end, or by a clock that is ahead.
        assert_eq!(decide(&claims(DAY, HOUR), 0), Renewal::Due(at(HOUR)));
        assert_eq!(decide(&claims(5 * HOUR, 5 * HOUR + DAY), 0), Renewal::Due(at(6 * HOUR)));
        let first =
            Claims { expires: Some(Timestamp::MAX), issued: Some(Timestamp::MIN), ..claims(0, 0) };
        assert!(matches!(decide(&first, 0), Renewal::Due(due) if due > at(365 * DAY)));
        let endless = TokenSettings { lifetime: Duration::MAX, ..settings() };
        assert!(
            matches!(renewal(Some(&claims(0, DAY)), at(0), &endless), Renewal::Due(due) if due == at(HOUR))
        );
    }

    #[test]
    fn a_token_is_replaced_by_a_better_one_only() {
        let old = claims(0, DAY);
        let prove = |new: Claims| replaces(Some(&new), &old, &settings(), at(HOUR));
        assert_eq!(prove(claims(HOUR, DAY + HOUR)), Ok(()));
        assert_eq!(prove(Claims { expires: None, ..claims(0, 0) }), Ok(()));
        assert_eq!(prove(claims(HOUR, DAY)), Err("it does not expire later than the one in use"));
        assert_eq!(prove(claims(0, HOUR)), Err("it has expired"));
        let other = Account { namespace: "fleet-member-west".into(), name: "member-agent".into() };
        let other = Claims { account: Some(other), ..claims(HOUR, 2 * DAY) };
        assert_eq!(prove(other), Err("it is that of another ServiceAccount"));
        let nobody = Claims { audiences: Vec::new(), ..claims(HOUR, 2 * DAY) };
        assert_eq!(prove(nobody), Err("it is for other audiences"));
        assert_eq!(replaces(None, &old, &settings(), at(0)), Err("it cannot be read"));
        let endless = Claims { expires: None, ..claims(0, 0) };
        assert!(replaces(Some(&claims(0, DAY)), &endless, &settings(), at(0)).is_err());
    }

    #[test]
    fn a_token_is_for_the_audiences_that_were_asked_for() {
        let settings =
            TokenSettings { audiences: vec!["a".to_owned(), "b".to_owned()], ..settings() };
        let new = |audiences: &[&str]| Claims {
            audiences: audiences.iter().map(|&one| one.to_owned()).collect(),
            ..claims(HOUR, 2 * DAY)
        };
        let prove = |audiences| replaces(Some(&new(audiences)), &claims(0, DAY), &settings, at(0));
        assert_eq!(prove(&["b", "c", "a"]), Ok(()));
        assert_eq!(prove(&["a"]), Err("it is for other audiences"));
    }
}
