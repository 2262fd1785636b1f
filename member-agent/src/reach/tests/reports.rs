//! What is reported to the hub, how much of it, and when.

use fleet_api::multicluster::{MAX_REACHED, MAX_TROUBLES, ReachReportSpec};

use super::*;
use crate::reach::report::{Calendar, Publisher, report};

fn told<F: FnMut(&Destination, Duration) -> Outcome>(world: &World<F>) -> ReachReportSpec {
    let now = "2026-01-01T00:01:00Z".parse().unwrap();
    report(&verdicts(&world.prober), false, Calendar { now, at: world.now })
}

#[test]
fn a_report_counts_and_names() {
    let all = [
        ("shop/web", "east", &["10.1.0.1:80"][..]),
        ("shop/web", "west", &["10.2.0.1:80"]),
        ("shop/udp", "west", &[]),
    ];
    let dead = |to: &Destination, _| {
        if to.to_string().starts_with("10.1.") { Outcome::TimedOut } else { Outcome::Ok }
    };
    let mut world = World::new(targets(&all), dead);
    let first = told(&world);
    assert_eq!((first.unknown, first.not_dialled, first.troubles.len()), (2, 1, 0));
    world.run(20);
    let found = told(&world);
    let counts = [found.reachable, found.unreachable, found.unknown, found.not_dialled];
    assert_eq!(counts, [1, 1, 0, 1]);
    let [east, west] = &found.exporters[..] else { unreachable!("two exporters") };
    assert_eq!((east.cluster.as_str(), east.unreachable, west.reachable), ("east", 1, 1));
    let trouble = &found.troubles[0];
    assert_eq!((trouble.hop, trouble.service.as_str()), (ReachHop::Route, "web"));
    assert!(trouble.since.0 < "2026-01-01T00:01:00Z".parse().unwrap());
    assert_eq!(trouble.detail, "10.1.0.1:80: there is no answer within 2 s");
}

#[test]
fn a_report_of_a_huge_fleet_is_bounded() {
    let mut all = Targets::default();
    for exporter in 0..500 {
        let endpoint = format!("10.{}.{}.1:80", exporter / 250, exporter % 250);
        all.cells.insert(cell("shop/web", &format!("m{exporter}")), [address(&endpoint)].into());
    }
    let mut world = World::new(all, |_, _| Outcome::NoRoute);
    world.run(900);
    let found = told(&world);
    assert_eq!(found.unreachable, 500);
    assert_eq!((found.exporters.len(), found.troubles.len()), (MAX_REACHED, MAX_TROUBLES));
}

#[test]
fn it_is_written_on_change_and_at_most_once_a_minute() {
    let second = Duration::from_secs(1);
    let mut publisher = Publisher::default();
    let spec = |reachable| ReachReportSpec { reachable, ..ReachReportSpec::default() };
    assert!(publisher.is_due(&spec(1), second), "the first one");
    publisher.written(spec(1));
    assert!(!publisher.is_due(&spec(1), second * 100), "nothing has changed");
    assert!(publisher.is_due(&spec(2), second * 101));
    assert!(
        !publisher.is_due(&spec(2), second * 150),
        "it failed, and is tried again a minute later"
    );
    assert!(publisher.is_due(&spec(2), second * 161));
    publisher.written(spec(2));
    publisher.forget();
    assert!(publisher.is_due(&spec(2), second * 300), "another process may have written since");
}

#[test]
fn a_leader_that_comes_and_goes_writes_once_a_minute() {
    let second = Duration::from_secs(1);
    let mut publisher = Publisher::default();
    let spec = ReachReportSpec::default();
    assert!(publisher.is_due(&spec, second));
    publisher.written(spec.clone());
    let mut publisher = publisher.rested();
    assert!(!publisher.is_due(&spec, second * 60));
    assert!(publisher.is_due(&spec, second * 61), "another process may have written since");
}

#[test]
fn it_is_written_again_once_an_hour() {
    let second = Duration::from_secs(1);
    let mut publisher = Publisher::default();
    let spec = ReachReportSpec::default();
    assert!(publisher.is_due(&spec, second));
    publisher.written(spec.clone());
    assert!(!publisher.is_due(&spec, second * 3600));
    assert!(publisher.is_due(&spec, second * 3601), "it may have been removed");
    publisher.written(spec.clone());
    assert!(!publisher.is_due(&spec, second * 3700));
}

#[test]
fn a_new_process_first_looks() {
    let second = Duration::from_secs(1);
    let mut publisher = Publisher::default();
    let unknown = ReachReportSpec { unknown: 1, ..ReachReportSpec::default() };
    assert!(!publisher.is_due(&unknown, second * 5));
    assert!(!publisher.is_due(&unknown, second * 64));
    assert!(publisher.is_due(&unknown, second * 65), "it is not known after a minute either");
    let mut publisher = Publisher::default();
    assert!(publisher.is_due(&ReachReportSpec::default(), second), "nothing is unknown");
}

#[test]
fn a_time_that_moves_is_no_news() {
    let all = [("shop/web", "east", &["10.1.0.1:80", "10.1.0.2:80"][..])];
    let mut world = World::new(targets(&all), |_, _| Outcome::TimedOut);
    world.run(20);
    let mut publisher = Publisher::default();
    assert!(publisher.is_due(&told(&world), world.now));
    publisher.written(told(&world));
    world.run(90);
    assert!(!publisher.is_due(&told(&world), world.now));
}
