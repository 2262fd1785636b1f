//! docs/design/traffic.md#drain

use crate::tests::given::secs;
use crate::{
    Acknowledged, Drain, DrainPermission, DrainStep, Exporter, MOST_HELD_SERVICES, drain_permission,
};

const ALL: Acknowledged = Acknowledged { importers: 100, applied: 100 };

fn drain(over: u64) -> Drain {
    Drain { target: 100, over: secs(over) }
}

#[test]
fn steps_by_duration() {
    let rows = [(0, 1), (59, 1), (60, 2), (90, 3), (119, 3), (300, 10), (600, 10), (86_400, 10)];
    for (over, steps) in rows {
        assert_eq!(drain(over).steps(), steps, "{over} s");
    }
}

/// Seconds and percentages of all steps, while every importer acknowledges.
fn course(drain: Drain, from: u8) -> Vec<(u64, u8)> {
    let (mut percent, mut reached, mut course) = (from, None, Vec::new());
    for second in 0..100_000 {
        match drain.next(percent, reached, ALL, secs(second)) {
            DrainStep::Done => break,
            DrainStep::Wait { .. } => {}
            DrainStep::To(next) => {
                (percent, reached) = (next, Some(secs(second)));
                course.push((second, next));
            }
        }
    }
    course
}

#[test]
fn equal_steps_that_end_within_the_time() {
    assert_eq!(course(drain(0), 0), [(0, 100)]);
    assert_eq!(course(drain(60), 0), [(0, 50), (30, 100)]);
    assert_eq!(course(drain(90), 0), [(0, 34), (30, 68), (60, 100)]);
    let long = course(drain(600), 0);
    assert_eq!((long.len(), long[0], long[9]), (10, (0, 10), (540, 100)));
    let half = Drain { target: 50, ..drain(60) };
    assert_eq!(course(half, 0), [(0, 25), (30, 50)]);
}

#[test]
fn an_undrain_is_the_same_backwards() {
    let undrain = |over| Drain { target: 0, over: secs(over) };
    assert_eq!(course(undrain(0), 100), [(0, 0)]);
    assert_eq!(course(undrain(60), 100), [(0, 50), (30, 0)]);
    assert_eq!(course(undrain(60), 30), [(0, 0)]);
}

#[test]
fn a_step_waits_for_importers_but_not_for_ever() {
    let wait = DrainStep::Wait { earliest: secs(30), latest: secs(60) };
    let next = |applied, at| {
        let acknowledged = Acknowledged { importers: 100, applied };
        drain(60).next(50, Some(secs(0)), acknowledged, secs(at))
    };
    // Importers that applied the last step, second, what happens.
    let rows = [
        (100, 29, wait),
        (100, 30, DrainStep::To(100)),
        (95, 30, DrainStep::To(100)),
        (94, 30, wait),
        (0, 59, wait),
        (0, 60, DrainStep::To(100)),
    ];
    for (applied, at, expected) in rows {
        assert_eq!(next(applied, at), expected, "{applied} at {at} s");
    }
    let none = Acknowledged { importers: 0, applied: 0 };
    assert_eq!(drain(60).next(50, Some(secs(0)), none, secs(30)), DrainStep::To(100),);
}

#[test]
fn a_drain_stays_where_it_is_when_done() {
    assert_eq!(drain(60).next(100, None, ALL, secs(9)), DrainStep::Done);
    assert_eq!(Drain { target: 200, over: secs(0) }.next(100, None, ALL, secs(9)), DrainStep::Done);
}

#[test]
fn an_exporter_that_drains_is_silent_or_has_none_ready_takes_nothing_over() {
    let fine = Exporter { ready: 1, draining: false, silent: false };
    assert!(fine.can_take_over());
    let draining = Exporter { draining: true, ..fine };
    let silent = Exporter { silent: true, ..fine };
    let unready = Exporter { ready: 0, ..fine };
    for other in [draining, silent, unready] {
        assert!(!other.can_take_over(), "{other:?}");
    }
}

#[test]
fn services_that_would_be_left_without_are_held() {
    let services = [("shop/web", false), ("shop/api", true)];
    assert_eq!(drain_permission(services, false), DrainPermission::Except(vec!["shop/web"]));
    assert_eq!(drain_permission(services, true), DrainPermission::Except(vec![]));
}

#[test]
fn too_many_held_services_refuse_the_whole_drain() {
    let names: Vec<_> = (0..=MOST_HELD_SERVICES).map(|at| format!("shop/{at}")).collect();
    let services = |count: usize| names[..count].iter().map(|name| (name.as_str(), false));
    let permission = drain_permission(services(MOST_HELD_SERVICES), false);
    assert!(matches!(permission, DrainPermission::Except(held) if held.len() == 100));
    let all = MOST_HELD_SERVICES + 1;
    assert_eq!(drain_permission(services(all), false), DrainPermission::Refused);
    assert_eq!(drain_permission(services(all), true), DrainPermission::Except(vec![]));
}
