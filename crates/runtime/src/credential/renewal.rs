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

/// When the token in force is renewed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// It cannot be renewed.
    Never(Unrenewable),
    /// At this time, by the clock of its issuer.
    Due(Timestamp),
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
pub fn renewal(claims: Option<&Claims>, settings: &TokenSettings) -> Renewal {
    let Some(claims) = claims else { return Renewal::Never(Unrenewable::Opaque) };
    let Some(expires) = claims.expires else { return Renewal::Never(Unrenewable::Endless) };
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

/// When a token was issued; for one that does not contain it, if it was granted the lifetime that it was requested for.
pub(super) fn issued(claims: &Claims, settings: &TokenSettings) -> Option<Timestamp> {
    let assumed = || claims.expires?.saturating_sub(settings.lifetime).ok();
    claims.issued.or_else(assumed)
}

/// Whether a new token may replace an old one. Whether it has expired the API server shows, which is asked.
///
/// # Errors
/// Why not.
pub(super) fn replaces(
    new: Option<&Claims>,
    old: &Claims,
    settings: &TokenSettings,
) -> Result<(), &'static str> {
    let new = new.ok_or("it cannot be read")?;
    let wanted = settings.audiences.iter().all(|audience| new.audiences.contains(audience));
    if new.account != old.account {
        Err("it is that of another ServiceAccount")
    } else if new.audiences.is_empty() || !wanted {
        Err("it is for other audiences")
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

    fn decide(claims: &Claims) -> Renewal {
        renewal(Some(claims), &settings())
    }

    #[test]
    fn a_token_is_renewed_after_an_hour() {
        assert_eq!(decide(&claims(0, DAY)), Renewal::Due(at(HOUR)));
    }

    #[test]
    fn a_short_token_is_renewed_at_half_of_its_time() {
        assert_eq!(decide(&claims(0, 600)), Renewal::Due(at(300)));
        assert_eq!(decide(&claims(0, HOUR)), Renewal::Due(at(HOUR / 2)));
        // What an API server has shortened: not again at once.
        assert_eq!(decide(&claims(100, 100 + 2 * HOUR)), Renewal::Due(at(100 + HOUR)));
    }

    /// A token of a year, as `fleetctl join` made it before, is not replaced by one of a day.
    #[test]
    fn a_longer_token_is_kept_until_a_new_one_expires_later() {
        let year = claims(0, 365 * DAY);
        assert_eq!(decide(&year), Renewal::Due(at(364 * DAY + HOUR)));
        let without = Claims { issued: None, ..year };
        assert_eq!(decide(&without), Renewal::Due(at(364 * DAY + HOUR)));
    }

    #[test]
    fn what_cannot_be_renewed_is_left_alone() {
        assert_eq!(renewal(None, &settings()), Renewal::Never(Unrenewable::Opaque));
        let endless = Claims { expires: None, ..claims(0, 0) };
        assert_eq!(decide(&endless), Renewal::Never(Unrenewable::Endless));
        let foreign = Claims { account: None, ..claims(0, DAY) };
        assert_eq!(decide(&foreign), Renewal::Never(Unrenewable::Foreign));
    }

    #[test]
    fn odd_times_do_no_harm() {
        // Issued after its end, or by a clock that is ahead.
        assert_eq!(decide(&claims(DAY, HOUR)), Renewal::Due(at(HOUR)));
        assert_eq!(decide(&claims(5 * HOUR, 5 * HOUR + DAY)), Renewal::Due(at(6 * HOUR)));
        let first =
            Claims { expires: Some(Timestamp::MAX), issued: Some(Timestamp::MIN), ..claims(0, 0) };
        assert!(matches!(decide(&first), Renewal::Due(due) if due > at(365 * DAY)));
        let endless = TokenSettings { lifetime: Duration::MAX, ..settings() };
        assert!(
            matches!(renewal(Some(&claims(0, DAY)), &endless), Renewal::Due(due) if due == at(HOUR))
        );
    }

    #[test]
    fn a_token_is_replaced_by_a_better_one_only() {
        let old = claims(0, DAY);
        let prove = |new: Claims| replaces(Some(&new), &old, &settings());
        assert_eq!(prove(claims(HOUR, DAY + HOUR)), Ok(()));
        assert_eq!(prove(Claims { expires: None, ..claims(0, 0) }), Ok(()));
        assert_eq!(prove(claims(HOUR, DAY)), Err("it does not expire later than the one in use"));
        assert_eq!(prove(claims(0, HOUR)), Err("it does not expire later than the one in use"));
        let other = Account { namespace: "fleet-member-west".into(), name: "member-agent".into() };
        let other = Claims { account: Some(other), ..claims(HOUR, 2 * DAY) };
        assert_eq!(prove(other), Err("it is that of another ServiceAccount"));
        let nobody = Claims { audiences: Vec::new(), ..claims(HOUR, 2 * DAY) };
        assert_eq!(prove(nobody), Err("it is for other audiences"));
        assert_eq!(replaces(None, &old, &settings()), Err("it cannot be read"));
        let endless = Claims { expires: None, ..claims(0, 0) };
        assert!(replaces(Some(&claims(0, DAY)), &endless, &settings()).is_err());
    }

    #[test]
    fn a_token_that_does_not_contain_when_it_was_issued_was_granted_in_full() {
        assert_eq!(issued(&claims(7, DAY), &settings()), Some(at(7)));
        let without = Claims { issued: None, ..claims(0, DAY) };
        assert_eq!(issued(&without, &settings()), Some(at(0)));
        assert_eq!(issued(&Claims { expires: None, ..without }, &settings()), None);
    }

    #[test]
    fn a_token_is_for_the_audiences_that_were_asked_for() {
        let settings =
            TokenSettings { audiences: vec!["a".to_owned(), "b".to_owned()], ..settings() };
        let new = |audiences: &[&str]| Claims {
            audiences: audiences.iter().map(|&one| one.to_owned()).collect(),
            ..claims(HOUR, 2 * DAY)
        };
        let prove = |audiences| replaces(Some(&new(audiences)), &claims(0, DAY), &settings);
        assert_eq!(prove(&["b", "c", "a"]), Ok(()));
        assert_eq!(prove(&["a"]), Err("it is for other audiences"));
    }
}
