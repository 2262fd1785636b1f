//! For how long agents work on a fleet after an action. Pure.

use std::time::Duration;

use fleet_api::traffic::FleetTrafficSpec;

use super::action::Action;

/// Shortest time after a loss.
const AFTER_LOSS: Duration = Duration::from_mins(5);
/// The most seconds that API servers take for the time until a member is silent. In a recording there may be any number.
const MOST_SECONDS: i64 = 3600;
/// For how long the hub agent's guards have to be met at most: two and a half of the longest heartbeats.
const GUARDS: Duration = Duration::from_secs(150);
/// Time in which importers put endpoints where they belong, and give up what they keep for a while.
const UNTIL_PLACED: Duration = Duration::from_secs(90);

/// The time in which everything happens that the action leads to. After a loss it has the verdict about the member, which comes as late as
/// administrators have set. What the owner of a Service puts off from there on may take days, and is left out if it takes longer.
pub(super) fn after(action: &Action, fleet: &FleetTrafficSpec) -> Duration {
    match action {
        Action::Lose(_) => (until_silent(fleet) + GUARDS + UNTIL_PLACED).max(AFTER_LOSS),
        _ => UNTIL_PLACED,
    }
}

fn until_silent(fleet: &FleetTrafficSpec) -> Duration {
    Duration::from_secs(fleet.silent_after_seconds.clamp(0, MOST_SECONDS).unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_loss(silent_after_seconds: i64) -> Duration {
        let fleet = FleetTrafficSpec { silent_after_seconds, ..FleetTrafficSpec::default() };
        after(&Action::Lose("east".to_owned()), &fleet)
    }

    #[test]
    fn a_loss_is_followed_beyond_the_verdict() {
        assert_eq!(after_loss(30), Duration::from_mins(5));
        assert_eq!(after_loss(60), Duration::from_mins(5));
        assert_eq!(after_loss(600), Duration::from_mins(14));
        assert_eq!(after_loss(3600), Duration::from_mins(64));
    }

    #[test]
    fn what_no_api_server_takes_is_bounded() {
        assert_eq!(after_loss(i64::MAX), after_loss(3600));
        assert_eq!(after_loss(i64::MIN), after_loss(30));
    }

    #[test]
    fn other_actions_wait_for_no_verdict() {
        let drain = Action::Drain { member: "east".to_owned(), services: vec![], force: false };
        let fleet = FleetTrafficSpec { silent_after_seconds: 3600, ..FleetTrafficSpec::default() };
        assert_eq!(after(&drain, &fleet), UNTIL_PLACED);
    }
}
