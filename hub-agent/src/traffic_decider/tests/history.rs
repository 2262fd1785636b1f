use std::time::Duration;

use fleet_api::traffic::{FleetTrafficPhase, FleetTrafficStatus};

use super::super::history::History;

const SECOND: Duration = Duration::from_secs(1);

fn stored(epoch: i64, phase: FleetTrafficPhase) -> FleetTrafficStatus {
    FleetTrafficStatus { epoch, phase: Some(phase), ..FleetTrafficStatus::default() }
}

#[test]
fn a_hub_that_goes_back_begins_an_epoch_and_members_have_five_minutes() {
    let mut history = History::default();
    let before = stored(3, FleetTrafficPhase::Settled);
    let mut now = 1000 * SECOND;
    assert_eq!(
        history.next(&before, false, None, |_| Some(false), now),
        (3, Some(FleetTrafficPhase::Settled))
    );
    now += SECOND;
    // What is stored is older: an epoch that was used is not used again.
    let older = stored(1, FleetTrafficPhase::Settled);
    let expected = (4, Some(FleetTrafficPhase::Rebuilding));
    assert_eq!(history.next(&older, true, None, |_| Some(false), now), expected);
    let stored = stored(4, FleetTrafficPhase::Rebuilding);
    for second in 1..300 {
        let at = now + second * SECOND;
        assert_eq!(history.next(&stored, second < 60, None, |_| Some(false), at), expected);
    }
    let after = history.next(&stored, false, None, |_| Some(false), now + 300 * SECOND);
    assert_eq!(after, (4, Some(FleetTrafficPhase::Settled)));
}

/// It lost its Lease while the hub was rebuilt, and leads again when that happens once more.
#[test]
fn a_later_epoch_of_another_process_has_its_own_five_minutes() {
    let mut history = History::default();
    let settled = stored(0, FleetTrafficPhase::Settled);
    let first = history.next(&settled, true, None, |_| Some(false), SECOND);
    assert_eq!(first, (1, Some(FleetTrafficPhase::Rebuilding)));
    let stored = stored(2, FleetTrafficPhase::Rebuilding);
    let mut phase_at = |second: u32| {
        let (epoch, phase) = history.next(&stored, false, None, |_| Some(false), second * SECOND);
        assert_eq!(epoch, 2);
        phase
    };
    assert_eq!(phase_at(3600), Some(FleetTrafficPhase::Rebuilding));
    assert_eq!(phase_at(3899), Some(FleetTrafficPhase::Rebuilding));
    assert_eq!(phase_at(3900), Some(FleetTrafficPhase::Settled));
}

#[test]
fn it_is_over_when_all_have_published() {
    let mut history = History::default();
    let settled = stored(0, FleetTrafficPhase::Settled);
    let all = |epoch: i64| Some(epoch == 0);
    assert_eq!(
        history.next(&settled, true, None, all, SECOND),
        (1, Some(FleetTrafficPhase::Rebuilding))
    );
    let stored = stored(1, FleetTrafficPhase::Rebuilding);
    let next = history.next(&stored, true, None, |epoch| Some(epoch == 1), 2 * SECOND);
    assert_eq!(next, (1, Some(FleetTrafficPhase::Settled)));
}

#[test]
fn epochs_are_further_apart_each_time() {
    let mut history = History::default();
    let mut stored = stored(0, FleetTrafficPhase::Settled);
    let mut epochs = Vec::new();
    for second in 1..2200 {
        // It goes back again and again.
        let went_back = second % 20 < 10;
        let (epoch, phase) =
            history.next(&stored, went_back, None, |_| Some(true), second * SECOND);
        if epoch != stored.epoch {
            epochs.push(second);
        }
        (stored.epoch, stored.phase) = (epoch, phase);
    }
    assert_eq!(epochs, [1, 61, 181, 421, 901, 1501, 2101]);
}

/// No member can publish anything to it, and it is not being rebuilt for ever.
#[test]
fn a_hub_that_goes_back_for_ever_is_settled_half_of_the_time() {
    let mut history = History::default();
    let mut stored = stored(0, FleetTrafficPhase::Settled);
    let mut settled = 0;
    for second in 1..7200 {
        let went_back = second % 90 < 60;
        let (epoch, phase) =
            history.next(&stored, went_back, None, |_| Some(false), second * SECOND);
        (stored.epoch, stored.phase) = (epoch, phase);
        settled += u32::from(phase == Some(FleetTrafficPhase::Settled));
    }
    assert!(settled > 2500, "{settled} seconds of two hours");
}

/// Members have published to the epoch that the first restore began, and what they published is lost again.
#[test]
fn a_hub_that_is_restored_again_begins_another_epoch() {
    let mut history = History::default();
    let mut stored = stored(0, FleetTrafficPhase::Settled);
    for (second, went_back, epoch) in
        [(1, true, 1), (60, true, 1), (61, false, 1), (62, true, 2), (123, true, 2)]
    {
        let all = |of: i64| Some(of <= stored.epoch);
        let next = history.next(&stored, went_back, None, all, second * SECOND);
        let phase = if epoch > stored.epoch {
            FleetTrafficPhase::Rebuilding
        } else {
            FleetTrafficPhase::Settled
        };
        assert_eq!(next, (epoch, Some(phase)), "{second}");
        (stored.epoch, stored.phase) = (next.0, next.1);
    }
}

/// The process that takes over goes on with what is stored.
#[test]
fn rebuilding_outlives_a_restart() {
    let stored = stored(2, FleetTrafficPhase::Rebuilding);
    let mut history = History::default();
    let next = |history: &mut History, at: u32| {
        history.next(&stored, false, None, |_| Some(false), at * SECOND)
    };
    assert_eq!(next(&mut history, 10), (2, Some(FleetTrafficPhase::Rebuilding)));
    assert_eq!(next(&mut history, 309), (2, Some(FleetTrafficPhase::Rebuilding)));
    assert_eq!(next(&mut history, 310), (2, Some(FleetTrafficPhase::Settled)));
}

/// The same backup is restored for the second time, and a process takes over that has not seen the first.
#[test]
fn an_epoch_that_members_have_seen_is_not_used_again() {
    let mut history = History::default();
    let backup = stored(0, FleetTrafficPhase::Settled);
    let next = history.next(&backup, false, Some(1), |_| Some(false), SECOND);
    assert_eq!(next, (2, Some(FleetTrafficPhase::Rebuilding)));
}
