//! Where it stops, how soon that is known, and what is no reason to report it.

use super::*;

const TWO: [&str; 2] = ["10.1.0.1:80", "10.1.0.2:80"];

fn starts_with(to: &Destination, text: &str) -> bool {
    to.to_string().starts_with(text)
}

/// Twenty Services, each of two exporters.
fn fleet() -> Targets {
    let names: Vec<_> = (0..10).map(|number| format!("shop/s{number}")).collect();
    let endpoints: Vec<_> = (0..10)
        .map(|number| (format!("10.1.0.{number}:80"), format!("10.2.0.{number}:80")))
        .collect();
    let mut cells = Vec::new();
    for (name, (east, west)) in names.iter().zip(&endpoints) {
        cells.push((name.as_str(), "east", vec![east.as_str()]));
        cells.push((name.as_str(), "west", vec![west.as_str()]));
    }
    let cells: Vec<_> = cells.iter().map(|(a, b, c)| (*a, *b, c.as_slice())).collect();
    targets(&cells)
}

#[test]
fn a_dropped_route_turns_its_cell_red_within_ten_seconds_and_no_other() {
    for cut_at in 0..20 {
        let cut = Duration::from_millis(120_000 + 137 * cut_at);
        let all = [("shop/web", "east", &TWO[..]), ("shop/web", "west", &["10.2.0.1:80"])];
        let drops = move |to: &Destination, now| {
            let is_dropped = starts_with(to, "10.1.") && now >= cut;
            if is_dropped { Outcome::TimedOut } else { Outcome::Ok }
        };
        let mut world = World::new(targets(&all), drops);
        world.run(20);
        assert_eq!(world.verdict("shop/web", "east"), Verdict::Reached);
        let until = (cut + Duration::from_secs(10)).as_secs() - world.now.as_secs();
        world.run(until);
        assert_eq!(world.hop("shop/web", "east"), Some(ReachHop::Route), "{cut:?}");
        assert_eq!(world.verdict("shop/web", "west"), Verdict::Reached);
    }
}

#[test]
fn a_dropped_route_of_ten_services_is_told_of_all_within_half_a_minute() {
    let cut = Duration::from_mins(2);
    let drops = move |to: &Destination, now| {
        if starts_with(to, "10.1.") && now >= cut { Outcome::TimedOut } else { Outcome::Ok }
    };
    let mut world = World::new(fleet(), drops);
    world.run(30);
    let red = (0..10).filter(|it| world.hop(&format!("shop/s{it}"), "east").is_some()).count();
    assert!(red > 0, "within ten seconds there is one");
    world.run(20);
    for number in 0..10 {
        let service = format!("shop/s{number}");
        assert_eq!(world.hop(&service, "east"), Some(ReachHop::Route), "{service}");
        assert_eq!(world.verdict(&service, "west"), Verdict::Reached, "{service}");
    }
}

/// The route is there: something of the exporter answers.
#[test]
fn one_service_that_does_not_answer_is_a_matter_of_its_endpoints() {
    let all = [("shop/web", "east", &TWO[..]), ("shop/db", "east", &["10.1.0.9:80"])];
    let dead = |to: &Destination, _| {
        if starts_with(to, "10.1.0.9") { Outcome::TimedOut } else { Outcome::Ok }
    };
    let mut world = World::new(targets(&all), dead);
    world.run(20);
    assert_eq!(world.hop("shop/db", "east"), Some(ReachHop::Endpoint));
    assert_eq!(world.verdict("shop/web", "east"), Verdict::Reached);
}

#[test]
fn a_host_that_refuses_is_reached() {
    let all = [("shop/web", "east", &TWO[..1])];
    let mut world = World::new(targets(&all), |_, _| Outcome::Refused);
    world.run(4);
    assert_eq!(world.verdict("shop/web", "east"), Verdict::Reached, "it may be starting");
    world.run(6);
    assert_eq!(world.hop("shop/web", "east"), Some(ReachHop::Endpoint));
}

#[test]
fn one_endpoint_of_many_is_named() {
    let all = [("shop/web", "east", &["10.1.0.1:80", "10.1.0.2:80", "10.1.0.3:80"][..])];
    let dead = |to: &Destination, _| {
        if starts_with(to, "10.1.0.2") { Outcome::TimedOut } else { Outcome::Ok }
    };
    let mut world = World::new(targets(&all), dead);
    world.run(30);
    let Verdict::Stops(stop) = world.verdict("shop/web", "east") else { unreachable!("it stops") };
    assert_eq!(stop.hop, ReachHop::Endpoint);
    assert_eq!(stop.detail, "of several endpoints 10.1.0.2:80: there is no answer within 2 s");
    // It is taken out of the slice.
    world.prober.aim(targets(&[("shop/web", "east", &["10.1.0.1:80", "10.1.0.3:80"])]));
    assert_eq!(world.verdict("shop/web", "east"), Verdict::Reached);
}

#[test]
fn address_and_name_are_blamed_only_where_all_endpoints_answer() {
    let all = [("shop/web", "east", &TWO[..]), ("shop/web", "west", &["10.2.0.1:80"])];
    let name = Some("web.shop.svc.clusterset.local.");
    let fronted = || with_front(targets(&all), "shop/web", "10.96.0.9:80", name);
    let fails = |of: &'static [&'static str]| {
        move |to: &Destination, _| match to {
            Destination::Resolve { .. } if of.contains(&"name") => Outcome::NoName,
            to if of.iter().any(|of| starts_with(to, of)) => Outcome::TimedOut,
            _ => Outcome::Ok,
        }
    };
    let mut world = World::new(fronted(), fails(&["10.96."]));
    world.run(20);
    assert_eq!(world.hop("shop/web", "east"), Some(ReachHop::Address));
    assert_eq!(world.hop("shop/web", "west"), Some(ReachHop::Address));
    let mut world = World::new(fronted(), fails(&["name"]));
    world.run(20);
    assert_eq!(world.hop("shop/web", "east"), Some(ReachHop::Name));
    let mut world = World::new(fronted(), fails(&["10.96.", "10.2.", "name"]));
    world.run(20);
    assert_eq!(world.hop("shop/web", "west"), Some(ReachHop::Route));
    assert_eq!(
        world.verdict("shop/web", "east"),
        Verdict::Reached,
        "the address leads to west, too"
    );
}

#[test]
fn a_lost_packet_is_no_evidence() {
    let mut count = 0;
    let loses_some = move |_: &Destination, _| {
        count += 1;
        if count % 50 == 0 { Outcome::TimedOut } else { Outcome::Ok }
    };
    let mut world = World::new(fleet(), loses_some);
    for _ in 0..60 {
        world.run(5);
        let red =
            verdicts(&world.prober).into_values().filter(|it| matches!(it, Verdict::Stops(_)));
        assert_eq!(red.count(), 0);
    }
}

#[test]
fn it_takes_two_answers_to_be_reached_again() {
    let all = [("shop/web", "east", &TWO[..1])];
    let until = Duration::from_mins(2);
    let heals = move |_: &Destination, now| {
        if now < until { Outcome::TimedOut } else { Outcome::Ok }
    };
    let mut world = World::new(targets(&all), heals);
    world.run(21);
    assert_eq!(world.hop("shop/web", "east"), Some(ReachHop::Route));
    world.run(7);
    assert_eq!(world.verdict("shop/web", "east"), Verdict::Reached);
}

/// The one that stays dead is named, and the route is not blamed for it.
#[test]
fn of_two_that_were_lost_the_one_that_stays_so_is_named() {
    let all = [("shop/web", "east", &TWO[..])];
    let until = Duration::from_mins(2);
    let one_heals = move |to: &Destination, now| {
        let is_dead = now < until || starts_with(to, TWO[1]);
        if is_dead { Outcome::TimedOut } else { Outcome::Ok }
    };
    let mut world = World::new(targets(&all), one_heals);
    world.run(20);
    assert_eq!(world.now, until);
    assert_eq!(world.hop("shop/web", "east"), Some(ReachHop::Route));
    world.run(10);
    for _ in 0..20 {
        world.run(3);
        let Verdict::Stops(stop) = world.verdict("shop/web", "east") else {
            unreachable!("one is dead")
        };
        assert_eq!(stop.hop, ReachHop::Endpoint);
        assert_eq!(stop.detail, "of several endpoints 10.1.0.2:80: there is no answer within 2 s");
    }
}

/// One answer in the middle is not the end of it, and it is the route again once enough has failed since.
#[test]
fn a_route_that_lets_one_answer_through_is_still_the_route() {
    let all = [("shop/web", "east", &TWO[..1])];
    let mut count = 0;
    let answers_once = move |_: &Destination, _| {
        count += 1;
        if count == 8 { Outcome::Ok } else { Outcome::TimedOut }
    };
    let mut world = World::new(targets(&all), answers_once);
    world.run(80);
    assert!(world.dials.len() > 12);
    assert_eq!(world.hop("shop/web", "east"), Some(ReachHop::Route));
}

/// Agents that are killed, and a hub that is cut, change no slice: nothing fails. Pods that move while no agent writes it are gone, and
/// once their slices are right again nothing is left of the results.
#[test]
fn endpoints_that_are_replaced_leave_no_trace() {
    let all = [("shop/web", "east", &TWO[..1])];
    let dead = |to: &Destination, _| {
        if starts_with(to, "10.1.0.1") { Outcome::TimedOut } else { Outcome::Ok }
    };
    let mut world = World::new(targets(&all), dead);
    world.run(3);
    world.prober.aim(targets(&[("shop/web", "east", &["10.1.0.7:80"])]));
    assert_eq!(world.verdict("shop/web", "east"), Verdict::Unknown);
    world.run(4);
    assert_eq!(world.verdict("shop/web", "east"), Verdict::Reached);
}

#[test]
fn what_this_machine_cannot_dial_shows_nothing() {
    let all = [("shop/web", "east", &TWO[..])];
    let mut world = World::new(targets(&all), |_, _| Outcome::NotDialled);
    world.run(30);
    assert_eq!(world.verdict("shop/web", "east"), Verdict::Unknown);
    let none = targets(&[("shop/web", "east", &[])]);
    world.prober.aim(none);
    assert_eq!(world.verdict("shop/web", "east"), Verdict::NotDialled);
}
