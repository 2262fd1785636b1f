//! What time it is at the API server, as far as that is known.

use jiff::Timestamp;

use crate::clients::Credential;
use crate::clock::Clock;

/// Two clocks that may differ. Which of them is wrong is not known, so neither counts alone: a gateway in front of the API
/// server can have a wrong date as well as this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clocks {
    /// This machine's.
    pub own: Timestamp,
    /// That of the API server, as the header `Date` of its answers has it; `None` before the first one.
    pub server: Option<Timestamp>,
}

impl Clocks {
    /// What the machine's clock and the last answers to a credential show.
    pub fn of(credential: &Credential, clock: &Clock) -> Self {
        Self { own: clock.now(), server: credential.server_time() }
    }

    /// Whether both show that a time has passed.
    pub fn both_are_past(self, time: Timestamp) -> bool {
        self.own >= time && self.server.is_some_and(|server| server >= time)
    }

    /// Whether one of them shows that a time has passed.
    pub fn one_is_past(self, time: Timestamp) -> bool {
        self.own >= time || self.server.is_some_and(|server| server >= time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_clock_alone_is_not_believed() {
        let clocks = |own, server: Option<i64>| Clocks { own: at(own), server: server.map(at) };
        for (clocks, one, both) in [
            (clocks(9, Some(9)), false, false),
            (clocks(10, Some(9)), true, false),
            (clocks(9, Some(10)), true, false),
            (clocks(10, Some(10)), true, true),
            (clocks(10, None), true, false),
            (clocks(9, None), false, false),
        ] {
            assert_eq!((clocks.one_is_past(at(10)), clocks.both_are_past(at(10))), (one, both));
        }
    }
}
