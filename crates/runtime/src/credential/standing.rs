//! Whether a credential is good. Pure.

use jiff::Timestamp;

use super::claims::Claims;
use super::clock::Clocks;

/// What is known of a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is not known to expire.
    Endless,
    /// It expires then.
    Until(Timestamp),
    /// It has expired.
    Expired(Timestamp),
    /// The API server rejects it, though it has not expired.
    Rejected,
}

impl Standing {
    /// Judges a credential by its claims, what is known about the time, and whether the API server has rejected it.
    pub fn of(claims: Option<&Claims>, clocks: Clocks, is_rejected: bool) -> Self {
        match claims.and_then(|claims| claims.expires) {
            Some(expires) if clocks.both_are_past(expires) => Self::Expired(expires),
            _ if is_rejected => Self::Rejected,
            Some(expires) => Self::Until(expires),
            None => Self::Endless,
        }
    }

    /// Whether it is good.
    pub fn is_good(self) -> bool {
        matches!(self, Self::Endless | Self::Until(_))
    }

    /// When it expires or has expired, if that is known.
    pub fn expires(self) -> Option<Timestamp> {
        match self {
            Self::Until(expires) | Self::Expired(expires) => Some(expires),
            Self::Endless | Self::Rejected => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_credential_is_good_until_it_expires_or_is_rejected() {
        let claims =
            |expires| Claims { expires, issued: None, account: None, audiences: Vec::new() };
        let clocks = |now| Clocks { own: at(now), server: Some(at(now)) };
        let standing = |expires, now, is_rejected| {
            Standing::of(Some(&claims(expires)), clocks(now), is_rejected)
        };
        assert_eq!(standing(Some(at(10)), 9, false), Standing::Until(at(10)));
        assert_eq!(standing(Some(at(10)), 10, false), Standing::Expired(at(10)));
        assert_eq!(standing(Some(at(10)), 9, true), Standing::Rejected);
        assert_eq!(standing(Some(at(10)), 11, true), Standing::Expired(at(10)));
        assert_eq!(standing(None, 9, false), Standing::Endless);
        assert_eq!(Standing::of(None, clocks(0), false), Standing::Endless);
        assert_eq!(Standing::of(None, clocks(0), true), Standing::Rejected);
        assert!(!Standing::Rejected.is_good() && Standing::Until(at(1)).is_good());
    }

    #[test]
    fn one_clock_lets_no_credential_expire() {
        let claims =
            Claims { expires: Some(at(10)), issued: None, account: None, audiences: Vec::new() };
        for (own, server) in [(9, Some(100)), (100, Some(9)), (100, None)] {
            let clocks = Clocks { own: at(own), server: server.map(at) };
            assert_eq!(Standing::of(Some(&claims), clocks, false), Standing::Until(at(10)));
            assert_eq!(Standing::of(Some(&claims), clocks, true), Standing::Rejected);
        }
    }
}
