//! What one dial has met.

use std::fmt;

/// What one dial has met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// A connection, or the right address of a name.
    Ok,
    /// The host answers that nothing listens.
    Refused,
    /// No answer in time.
    TimedOut,
    /// A router, or this machine, knows no way.
    NoRoute,
    /// The name does not exist.
    NoName,
    /// The name leads elsewhere.
    OtherAddress,
    /// This machine could not dial, for example without free files. It shows nothing about the target.
    NotDialled,
}

impl Outcome {
    /// Whether it shows something about the target.
    pub(crate) fn counts(self) -> bool {
        self != Self::NotDialled
    }

    /// Its label in metrics.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Refused => "refused",
            Self::TimedOut => "timeout",
            Self::NoRoute => "no_route",
            Self::NoName => "no_name",
            Self::OtherAddress => "other_address",
            Self::NotDialled => "not_dialled",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "it answers",
            Self::Refused => "the host answers that nothing listens there",
            Self::TimedOut => "there is no answer within 2 s",
            Self::NoRoute => "there is no route to it",
            Self::NoName => "the name does not resolve",
            Self::OtherAddress => "the name leads to another address",
            Self::NotDialled => "it could not be dialled",
        })
    }
}
