use fleet_api::traffic::{FleetTrafficPhase, MASS_SILENCE};
use fleet_plan::conditions::is;

use super::world::World;

#[test]
fn conditions_are_written_at_once_and_numbers_wait() {
    let mut world = World::of(&["east", "north", "south", "west"]);
    world.pass(2);
    let fleet = world.fleet();
    assert_eq!((fleet.epoch, fleet.phase), (0, Some(FleetTrafficPhase::Settled)));
    assert!(is(&fleet.conditions, MASS_SILENCE, "False"));
    world.alive.remove("east");
    world.pass(90);
    let waiting: Vec<_> = world.plans().into_iter().flat_map(|plan| plan.debounced).collect();
    let waiting: Vec<_> = waiting.iter().map(|one| (one.delay.as_secs(), one.purpose)).collect();
    assert_eq!(waiting, [(60, "numbers of members")]);
    world.alive.clear();
    world.pass(90);
    assert!(is(&world.fleet().conditions, MASS_SILENCE, "True"));
    assert_eq!(world.fleet().held, 1, "the others wait for a minute");
}

#[test]
fn mass_silence_ends_when_members_renew_and_a_restart_does_not_end_it() {
    let mut world = World::settled(&["east", "north", "south", "west"]);
    world.alive.clear();
    world.pass(90);
    assert!(is(&world.fleet().conditions, MASS_SILENCE, "True"));
    world.writes();
    world.restart();
    world.pass(59);
    assert!(is(&world.fleet().conditions, MASS_SILENCE, "True"));
    assert_eq!(world.writes(), 0);
    world.alive.extend(["east", "north", "south", "west"]);
    world.pass(90);
    assert!(is(&world.fleet().conditions, MASS_SILENCE, "False"));
    assert_eq!(world.verdict("east"), ("Heard", 0));
}
