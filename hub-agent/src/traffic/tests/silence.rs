use fleet_api::kinds;
use fleet_api::traffic::{FleetTrafficPhase, PUBLISHED, PUBLISHED_SLICES, WENT_BACK};
use serde_json::json;

use super::world::{World, lease};

const TEN: [&str; 10] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];

#[test]
fn a_member_that_ends_is_silent_within_75_seconds_and_returns_in_steps() {
    let mut world = World::settled(&TEN);
    world.alive.remove("a");
    world.pass(59);
    assert_eq!(world.verdict("a"), ("Heard", 0));
    world.pass(16);
    assert_eq!(world.verdict("a"), ("Silent", 100));
    assert_eq!(world.events["MemberSilent"], 1);
    assert_eq!(world.writes(), 1, "one write for the verdict");
    let silence = world.status("a").silence.unwrap();
    assert_eq!(silence.serial, Some(world.status("a").serial));
    assert!(!silence.confirmed && !silence.by_domain);

    world.alive.insert("a");
    let mut steps = vec![100];
    for _ in 0..130 {
        world.pass(1);
        let (_, percent) = world.verdict("a");
        if steps.last() != Some(&percent) {
            steps.push(percent);
        }
    }
    assert_eq!(steps, [100, 75, 50, 25, 0]);
    assert_eq!(world.writes(), 4, "and four for the return");
    assert_eq!(world.events["MemberReturns"], 1);
    assert_eq!(world.status("a").silence.unwrap().serial, None);
}

/// The serial of a verdict is not that of what comes after it: importers apply the oldest first.
#[test]
fn a_verdict_keeps_its_serial() {
    let mut world = World::settled(&TEN);
    world.alive.remove("a");
    world.pass(80);
    let serial = world.status("a").silence.unwrap().serial;
    world.drain("a", "*", 100, 0);
    world.pass(2);
    let status = world.status("a");
    assert!(status.serial > serial.unwrap());
    assert_eq!(status.silence.unwrap().serial, serial);
}

#[test]
fn a_member_that_renews_late_is_not_silent() {
    let mut world = World::settled(&TEN);
    world.alive.remove("a");
    for _ in 0..20 {
        world.pass(55);
        world.renew_now("a");
    }
    assert_eq!(world.verdict("a"), ("Heard", 0));
    assert_eq!(world.writes(), 0);
}

#[test]
fn an_agent_that_stops_and_starts_each_second_is_never_ejected() {
    let mut world = World::settled(&TEN);
    world.alive.remove("a");
    for second in 0..600 {
        world.pass(1);
        if second % 2 == 0 {
            world.renew_now("a");
        }
    }
    assert_eq!(world.writes(), 0);
}

/// A silence of 70 s every two minutes: the return is damped, so that the next silence finds the member ejected still.
#[test]
fn a_flapping_member_is_ejected_once_in_its_damping() {
    let mut world = World::settled(&TEN);
    let mut ejections = 0;
    for _ in 0..12 {
        world.alive.remove("a");
        world.pass(70);
        world.alive.insert("a");
        world.pass(50);
        ejections = world.events.get("MemberSilent").copied().unwrap_or_default();
    }
    assert!((1..=5).contains(&ejections), "{ejections}");
}

#[test]
fn of_ten_members_half_that_end_at_once_change_nothing() {
    let mut world = World::settled(&TEN);
    for member in &TEN[..5] {
        world.alive.remove(member);
    }
    world.pass(200);
    for member in TEN {
        let expected = if world.alive.contains(member) { "Heard" } else { "Held" };
        assert_eq!(world.verdict(member), (expected, 0), "{member}");
    }
    assert!(world.events["MassSilence"] > 0);
    assert_eq!(world.fleet().conditions[0].status, "True");
    let serial = |world: &World| TEN.map(|member| world.status(member).serial);
    let before = serial(&world);
    // Two are confirmed by name: exactly these.
    for member in ["b", "d"] {
        world.decide(member, |spec| spec["silence"] = json!("Confirmed"));
    }
    world.pass(5);
    for member in TEN {
        let is_silent = world.verdict(member) == ("Silent", 100);
        assert_eq!(is_silent, ["b", "d"].contains(&member), "{member}");
    }
    let silence = world.status("b").silence.unwrap();
    assert!(silence.confirmed && !silence.lapsed);
    let changed = serial(&world).iter().zip(before).filter(|(new, old)| **new != *old).count();
    assert_eq!(changed, 2, "importers have nothing else to do");
}

#[test]
fn forty_of_a_hundred_that_end_at_once_move_nothing() {
    let names: Vec<&'static str> =
        (0..100).map(|at| &*Box::leak(format!("m{at}").into_boxed_str())).collect();
    let mut world = World::of(&names);
    world.pass(70);
    let before: Vec<_> = names.iter().map(|name| world.status(name).serial).collect();
    for name in &names[30..70] {
        world.alive.remove(name);
    }
    world.pass(90);
    let after: Vec<_> = names.iter().map(|name| world.status(name).serial).collect();
    assert_eq!(before, after);
    assert_eq!(names.iter().filter(|name| world.verdict(name).0 == "Held").count(), 40);
    assert!(names.iter().all(|name| world.verdict(name).1 == 0));
}

#[test]
fn no_more_than_the_bound_are_silent_however_slowly_they_end() {
    let mut world = World::settled(&TEN);
    for member in &TEN[..4] {
        world.alive.remove(member);
        world.pass(200);
    }
    let silent = TEN.iter().filter(|member| world.verdict(member).0 == "Silent");
    assert_eq!(silent.count(), 2, "20 percent of ten");
}

#[test]
fn a_confirmation_lapses_with_the_next_renewal() {
    let mut world = World::settled(&TEN);
    world.alive.remove("a");
    world.pass(80);
    world.decide("a", |spec| spec["silence"] = json!("Confirmed"));
    world.pass(2);
    world.alive.insert("a");
    world.pass(200);
    let silence = world.status("a").silence.unwrap();
    assert!(silence.lapsed && !silence.confirmed);
    assert_eq!(world.verdict("a"), ("Heard", 0));
    // What was confirmed then does not count now.
    for member in &TEN[..6] {
        world.alive.remove(member);
    }
    world.pass(200);
    assert_eq!(world.verdict("a"), ("Held", 0));
    // Confirmed anew.
    world.decide("a", |spec| spec["silence"] = json!("Auto"));
    world.pass(2);
    world.decide("a", |spec| spec["silence"] = json!("Confirmed"));
    world.pass(2);
    assert_eq!(world.verdict("a"), ("Silent", 100));
}

#[test]
fn a_member_that_is_never_judged_is_not() {
    let mut world = World::settled(&TEN);
    world.decide("a", |spec| spec["silence"] = json!("Never"));
    world.alive.remove("a");
    world.pass(300);
    assert_eq!(world.verdict("a"), ("Heard", 0));
}

#[test]
fn members_of_one_failure_domain_count_as_one_where_administrators_say_so() {
    let mut world = World::settled(&TEN);
    for (at, member) in TEN.into_iter().enumerate() {
        let site = if at < 4 { "one" } else { "two" };
        world.decide(member, |spec| spec["properties"] = json!({ "site": site }));
    }
    world.configure(|spec| spec["domainProperty"] = json!("site"));
    for member in &TEN[..4] {
        world.alive.remove(member);
    }
    world.pass(200);
    for member in &TEN[..4] {
        assert_eq!(world.verdict(member), ("Silent", 100), "{member}");
        assert!(world.status(member).silence.unwrap().by_domain);
    }
}

/// A process that stood still, one that does not lead, and one whose watch is broken see no Lease change.
#[test]
fn who_cannot_see_changes_nothing() {
    let mut world = World::settled(&TEN);
    // It stood still for ten minutes; members went on.
    world.now += std::time::Duration::from_mins(10);
    world.look();
    world.pass(30);
    assert_eq!(world.writes(), 0);
    // Another process leads.
    world.leads = false;
    world.alive.clear();
    world.pass(300);
    assert_eq!(world.writes(), 0);
    // It leads again, and members too are there: they had no time to renew in its view.
    world.leads = true;
    world.alive.extend(TEN);
    world.pass(59);
    assert_eq!(world.writes(), 0);
}

#[test]
fn the_next_process_keeps_verdicts_and_returns() {
    let mut world = World::settled(&TEN);
    world.alive.remove("a");
    world.pass(80);
    world.restart();
    world.writes();
    world.pass(100);
    assert_eq!((world.verdict("a"), world.writes()), (("Silent", 100), 0));
    world.alive.insert("a");
    world.pass(45);
    let (_, percent) = world.verdict("a");
    assert!((25..100).contains(&percent), "{percent}");
    world.restart();
    world.pass(59);
    assert_eq!(world.verdict("a").1, percent, "it judges no member yet");
    world.pass(120);
    assert_eq!(world.verdict("a"), ("Heard", 0));
}

/// What is stored arrives later than Leases do: until then there is nothing to go on from.
#[test]
fn a_process_that_has_not_listed_verdicts_returns_no_member() {
    let mut world = World::settled(&TEN);
    world.alive.remove("a");
    world.pass(80);
    world.restart();
    world.is_listing = true;
    world.writes();
    world.pass(100);
    world.is_listing = false;
    world.pass(100);
    assert_eq!((world.verdict("a"), world.writes()), (("Silent", 100), 0));
}

#[test]
fn a_member_whose_exports_are_not_on_this_hub_does_not_return() {
    let mut world = World::settled(&TEN);
    let name = fleet_api::ObjectName::new("fleet-member-a", "a");
    let report = json!({ "spec": { "clusterUid": "u", "publishedTo": "old/0" } });
    world.hub.create(kinds::CLUSTER_REPORT, &name, report).unwrap();
    world.edit(kinds::CLUSTER_REPORT, &name, |it| it["status"] = json!({ "incarnation": "hub/0" }));
    world.alive.remove("a");
    world.pass(80);
    world.alive.insert("a");
    world.pass(200);
    assert_eq!(world.verdict("a"), ("Silent", 100));
    world.edit(kinds::CLUSTER_REPORT, &name, |it| it["spec"]["publishedTo"] = json!("hub/0"));
    world.pass(120);
    assert_eq!(world.verdict("a"), ("Heard", 0));
}

/// The Lease reports what is published through either API. An agent that has just started reports nothing, and takes nothing back.
#[test]
fn what_a_member_has_published_outlives_its_agent() {
    let mut world = World::settled(&TEN);
    let present = world.incarnation(0);
    world.note("a", PUBLISHED, "old/0");
    world.alive.remove("a");
    world.pass(80);
    assert_eq!(world.status("a").complete.as_deref(), Some("old/0"));
    world.alive.insert("a");
    world.pass(200);
    assert_eq!(world.verdict("a"), ("Silent", 100), "not to this hub");
    world.note("a", PUBLISHED, "");
    world.pass(100);
    assert_eq!(world.status("a").complete.as_deref(), Some("old/0"));
    world.note("a", PUBLISHED, &present);
    world.pass(120);
    assert_eq!(world.verdict("a"), ("Heard", 0));
    assert_eq!(world.status("a").complete.as_ref(), Some(&present));
    world.note("a", PUBLISHED, "");
    world.restart();
    world.pass(100);
    assert_eq!(world.status("a").complete.as_ref(), Some(&present));
}

/// The hub lacks the namespace of one of its exports for ever: that is no reason to keep its other endpoints as last resort.
#[test]
fn a_member_that_has_never_published_everything_returns() {
    let mut world = World::settled(&TEN);
    world.note("a", PUBLISHED, "");
    world.alive.remove("a");
    world.pass(80);
    assert_eq!(world.verdict("a"), ("Silent", 100));
    world.alive.insert("a");
    world.pass(130);
    assert_eq!(world.verdict("a"), ("Heard", 0));
}

/// The hub agent was restarted together with the API server: only members have seen that it went back.
#[test]
fn members_report_that_the_hub_went_back() {
    let mut world = World::settled(&TEN);
    let present = world.incarnation(0);
    for member in ["a", "b"] {
        world.note(member, PUBLISHED, &present);
        world.note(member, WENT_BACK, &present);
    }
    world.restart();
    world.pass(5);
    assert_eq!(
        (world.fleet().epoch, world.fleet().phase),
        (1, Some(FleetTrafficPhase::Rebuilding))
    );
    // Reports of the past change nothing more.
    world.pass(700);
    assert_eq!((world.fleet().epoch, world.fleet().phase), (1, Some(FleetTrafficPhase::Settled)));
    let next = world.incarnation(1);
    for member in ["a", "b"] {
        world.note(member, WENT_BACK, &next);
    }
    world.pass(1);
    assert_eq!(world.fleet().phase, Some(FleetTrafficPhase::Rebuilding));
    for member in ["a", "b"] {
        world.note(member, PUBLISHED, &world.incarnation(2));
    }
    world.pass(3);
    assert_eq!((world.fleet().epoch, world.fleet().phase), (2, Some(FleetTrafficPhase::Settled)));
}

/// What the backup has is an epoch that was used since. Members name the one that they had seen, and the next one is another.
#[test]
fn a_second_restore_of_the_same_backup_begins_an_epoch_of_its_own() {
    let mut world = World::settled(&TEN);
    let (present, later) = (world.incarnation(0), world.incarnation(1));
    for member in ["a", "b", "c"] {
        world.note(member, PUBLISHED, &present);
    }
    world.note("a", WENT_BACK, &later);
    world.restart();
    world.pass(5);
    assert_eq!(world.fleet().epoch, 0, "one of three begins no epoch");
    world.note("b", WENT_BACK, &later);
    world.pass(5);
    assert_eq!(world.fleet().epoch, 2);
}

/// A number that the API server would not store is no report, even if it is the only one.
#[test]
fn no_member_reports_an_epoch_that_is_far_away() {
    let mut world = World::settled(&TEN);
    let (present, far) = (world.incarnation(0), world.incarnation(1_000_000_000));
    world.note("a", PUBLISHED, &present);
    world.note("a", WENT_BACK, &far);
    world.pass(5);
    assert_eq!(world.fleet().epoch, 0);
    let near = world.incarnation(1000);
    world.note("a", WENT_BACK, &near);
    world.pass(5);
    assert_eq!(world.fleet().epoch, 1001);
}

/// A Lease from a backup is no report.
#[test]
fn members_that_do_not_renew_report_nothing() {
    let mut world = World::settled(&TEN);
    let present = world.incarnation(0);
    for member in ["a", "b"] {
        world.note(member, PUBLISHED, &present);
        world.alive.remove(member);
    }
    world.pass(100);
    for member in ["a", "b"] {
        world.note(member, WENT_BACK, &present);
    }
    world.pass(5);
    assert_eq!(world.fleet().epoch, 0);
}

/// A hub without a history waits for members that report what they publish, and for no others.
#[test]
fn a_new_hub_is_being_rebuilt_until_members_have_published() {
    let mut world = World::of(&TEN);
    world.note("a", PUBLISHED, "");
    world.pass(60);
    assert_eq!(world.fleet().phase, Some(FleetTrafficPhase::Rebuilding));
    let present = world.incarnation(0);
    world.note("a", PUBLISHED, &present);
    world.pass(2);
    assert_eq!(world.fleet().phase, Some(FleetTrafficPhase::Settled));
}

/// The watch of this process has missed a slice, or is behind: importers would take it for withdrawn.
#[test]
fn what_a_member_has_published_counts_once_it_is_seen() {
    let mut world = World::of(&TEN);
    let present = world.incarnation(0);
    world.export("a", "web", 1);
    world.note("a", PUBLISHED_SLICES, "2");
    world.note("a", PUBLISHED, &present);
    world.pass(60);
    assert_eq!(world.status("a").complete, None);
    assert_eq!(world.fleet().phase, Some(FleetTrafficPhase::Settled), "nobody else waits for that");
    world.export("a", "shop", 1);
    world.pass(2);
    assert_eq!(world.status("a").complete.as_ref(), Some(&present));
    world.note("a", PUBLISHED_SLICES, "18446744073709551615");
    world.pass(60);
    assert_eq!(world.status("a").complete.as_ref(), Some(&present), "once is enough");
}

/// Times in Leases are those of other clocks.
#[test]
fn a_clock_that_is_set_back_is_a_renewal_like_any_other() {
    let mut world = World::settled(&TEN);
    world.alive.remove("a");
    for year in [2031, 1999, 2031] {
        world.pass(50);
        world.edit(kinds::LEASE, &lease("a"), |lease| {
            lease["spec"]["renewTime"] = json!(format!("{year}-01-01T00:00:00.000000Z"));
        });
    }
    world.pass(50);
    assert_eq!(world.verdict("a"), ("Heard", 0));
}

/// A Lease that is deleted, or that a restored hub lacks, is no sign of life.
#[test]
fn a_silent_member_stays_so_when_its_lease_is_gone() {
    let mut world = World::settled(&TEN);
    world.alive.remove("a");
    world.pass(80);
    world.hub.delete(kinds::LEASE, &lease("a")).unwrap();
    world.pass(200);
    world.restart();
    world.pass(200);
    assert_eq!(world.verdict("a"), ("Silent", 100));
    world.decide("a", |spec| spec["silence"] = json!("Never"));
    world.pass(2);
    assert_eq!(world.verdict("a"), ("Unmanaged", 0));
}

/// Seconds until a silent member begins to return.
fn returns_after(world: &mut World, member: &'static str) -> u64 {
    world.alive.insert(member);
    (1..1000)
        .find(|_| {
            world.pass(1);
            world.verdict(member).1 < 100
        })
        .unwrap()
}

/// How long a member that flaps has to renew does not depend on which process decides.
#[test]
fn damping_outlives_the_process() {
    let mut world = World::settled(&TEN);
    let mut waited = Vec::new();
    for _ in 0..3 {
        world.alive.remove("a");
        world.pass(80);
        assert_eq!(world.verdict("a"), ("Silent", 100));
        world.restart();
        // The next process judges after a minute.
        world.pass(70);
        waited.push(returns_after(&mut world, "a"));
        world.pass(100);
    }
    for (waited, damping) in waited.into_iter().zip([30, 60, 120]) {
        assert!((damping..=damping + 11).contains(&waited), "{waited} s instead of {damping}");
    }
    assert_eq!(world.status("a").silence.unwrap().ejections, 3);
    world.writes();
    world.pass(4000);
    assert_eq!(world.writes(), 0, "that an hour is over is not written");
}
