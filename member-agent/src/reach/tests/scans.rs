//! The rate of dials, and that they are dealt out fairly.

use super::*;

fn many(exporters: usize, services: usize) -> Targets {
    let mut all = Targets::default();
    for exporter in 0..exporters {
        for service in 0..services {
            let cell = cell(&format!("shop/s{service}"), &format!("m{exporter}"));
            let endpoint = format!("10.{exporter}.{}.{}:80", service / 250, service % 250);
            all.cells.insert(cell, [address(&endpoint)].into());
        }
    }
    all
}

#[test]
fn there_are_at_most_five_dials_a_second() {
    for fails in [false, true] {
        let outcome = move |_: &Destination, _| if fails { Outcome::TimedOut } else { Outcome::Ok };
        let mut world = World::new(many(3, 100), outcome);
        world.run(60);
        assert!(world.dials.len() <= 301, "{}", world.dials.len());
        assert!(world.dials.len() > 200, "{}", world.dials.len());
        let mut times = world.dials.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].0));
        assert!(times.all(|apart| apart >= EVERY));
    }
}

#[test]
fn a_small_exporter_waits_for_no_large_one() {
    let mut all = many(1, 200);
    all.cells.insert(cell("shop/web", "small"), [address("10.9.0.1:80")].into());
    let mut world = World::new(all, |_, _| Outcome::Ok);
    world.run(30);
    let small = world.dials.iter().filter(|(_, dial)| dial.to.to_string() == "10.9.0.1:80");
    assert!(small.count() >= 10);
}

#[test]
fn failures_do_not_starve_what_works() {
    let mut all = many(1, 200);
    all.cells.insert(cell("shop/web", "small"), [address("10.9.0.1:80")].into());
    let fails = |to: &Destination, _| {
        if to.to_string().starts_with("10.0.") { Outcome::Refused } else { Outcome::Ok }
    };
    let mut world = World::new(all, fails);
    world.run(30);
    let small = world.dials.iter().filter(|(_, dial)| dial.to.to_string() == "10.9.0.1:80");
    assert!(small.count() >= 5);
}

#[test]
fn every_endpoint_has_its_turn() {
    let endpoints: Vec<_> = (1..=9).map(|number| format!("10.1.0.{number}:80")).collect();
    let endpoints: Vec<_> = endpoints.iter().map(String::as_str).collect();
    let mut world = World::new(targets(&[("shop/web", "east", &endpoints)]), |_, _| Outcome::Ok);
    world.run(25);
    let seen: BTreeSet<_> = world.dials.iter().map(|(_, dial)| dial.to.to_string()).collect();
    assert_eq!(seen.len(), 9);
}

#[test]
fn nothing_to_dial_is_nothing_dialled() {
    let mut world = World::new(Targets::default(), |_, _| Outcome::Ok);
    world.run(5);
    assert!(world.dials.is_empty());
}
