use std::collections::BTreeMap;

use fleet_accumulator::{ClusterId, Object, SourceState};
use fleet_api::names::{MEMBER_LEASE, member_namespace};
use fleet_api::{ObjectName, kinds};
use fleet_model_server::ModelServer;
use jiff::Timestamp;
use serde_json::json;

use super::*;

const MINUTE: Duration = Duration::from_mins(1);
const SECOND: Duration = Duration::from_secs(1);

/// Leases on a hub, a watch of them, and what the process that follows them knows.
struct World {
    leases: BTreeMap<&'static str, (u32, i64)>,
    state: SourceState,
    seen: View<MemberLease>,
    liveness: Liveness,
    now: Duration,
}

impl World {
    /// A process that has listed the Leases of these members, and follows them.
    fn of(members: &[&'static str]) -> Self {
        let leases = members.iter().map(|member| (*member, (0, 0))).collect();
        let (seen, liveness) = (View::default(), Liveness::new(MINUTE));
        let state = SourceState::Live;
        let mut world = Self { leases, state, seen, liveness, now: 1000 * SECOND };
        world.arrive();
        world
    }

    /// What the watch has shows.
    fn arrive(&mut self) -> Vec<Turn> {
        let lease = |(member, (uid, renewed)): (&&'static str, &(u32, i64))| {
            let name = ObjectName::new(member_namespace(member), MEMBER_LEASE);
            let renewed = Some(Timestamp::from_second(*renewed).unwrap());
            let (uid, version) = (uid.to_string(), "1");
            Object::new(
                name,
                uid.as_str().into(),
                version.into(),
                MemberLease { renewed, ..MemberLease::default() },
            )
        };
        let new = View::of(self.leases.iter().map(lease)).in_state(self.state.clone());
        let turns = self.liveness.follow(&self.seen, &new, self.now);
        self.seen = new;
        turns
    }

    /// A member writes a time of its own clock.
    fn write(&mut self, member: &'static str, time: i64) -> Vec<Turn> {
        self.leases.get_mut(member).unwrap().1 = time;
        self.arrive()
    }

    fn renew(&mut self, member: &'static str) -> Vec<Turn> {
        let time = self.leases[member].1;
        self.write(member, time + 10)
    }

    fn is_in(&mut self, state: SourceState) {
        self.state = state;
        self.arrive();
    }

    /// The process looks each second; these members renew every ten. Returns who has become silent.
    fn pass(&mut self, seconds: u32, renewing: &[&'static str]) -> Vec<String> {
        let mut silent = Vec::new();
        for second in 1..=seconds {
            self.now += SECOND;
            if second % 10 == 0 {
                for member in renewing {
                    self.renew(member);
                }
            }
            silent.extend(self.liveness.look(self.now).iter().map(|turn| turn.member.to_string()));
        }
        silent
    }

    fn standing(&self, member: &str) -> Standing {
        self.liveness.standing(member).unwrap()
    }
}

fn stale() -> SourceState {
    SourceState::Stale { since: std::time::Instant::now(), message: "away".into() }
}

#[test]
fn a_member_that_stops_to_renew_is_silent_after_a_minute() {
    let mut world = World::of(&["east", "west"]);
    assert_eq!(world.standing("east"), Standing::Unknown);
    assert!(world.pass(100, &["east", "west"]).is_empty());
    assert_eq!(world.standing("east"), Standing::Renewing);
    assert!(world.pass(59, &["west"]).is_empty());
    assert_eq!(world.pass(2, &["west"]), ["east"]);
    assert_eq!(world.standing("east"), Standing::Silent);
    assert_eq!(world.standing("west"), Standing::Renewing);
}

#[test]
fn one_renewal_ends_the_silence_at_once_and_is_reported_once() {
    let mut world = World::of(&["east", "west"]);
    world.pass(90, &["west"]);
    assert_eq!(world.standing("east"), Standing::Silent);
    assert!(world.pass(600, &["west"]).is_empty(), "reported once");
    let again = Turn { member: "east".into(), silent: false };
    assert_eq!(world.renew("east"), [again]);
    assert_eq!(world.standing("east"), Standing::Renewing);
    assert!(world.renew("east").is_empty());
}

#[test]
fn a_restarted_process_judges_after_a_minute_of_its_own() {
    let mut world = World::of(&["east", "west"]);
    assert!(world.pass(59, &["west"]).is_empty());
    assert_eq!(world.standing("east"), Standing::Unknown);
    assert_eq!(world.pass(2, &["west"]), ["east"]);
}

#[test]
fn a_member_without_a_lease_is_not_judged() {
    let mut world = World::of(&["west"]);
    world.pass(600, &["west"]);
    assert_eq!(world.liveness.standing("east"), None);
    world.pass(20, &["west"]);
    world.leases.remove("west");
    world.arrive();
    assert_eq!(world.liveness.members(world.now).count(), 0);
}

#[test]
fn a_lease_that_appears_while_it_is_watched_is_a_renewal() {
    let mut world = World::of(&["west"]);
    world.leases.insert("east", (7, 0));
    let first = Turn { member: "east".into(), silent: false };
    assert_eq!(world.arrive(), [first]);
    assert_eq!(world.standing("east"), Standing::Renewing);
}

#[test]
fn a_lease_that_is_deleted_and_made_again_is_renewed() {
    let mut world = World::of(&["east", "west"]);
    world.pass(90, &["west"]);
    world.leases.insert("east", (8, 0));
    world.arrive();
    assert_eq!(world.standing("east"), Standing::Renewing);
}

/// Only that the content changes counts.
#[test]
fn clocks_of_members_do_not_matter() {
    let mut world = World::of(&["east", "west", "north"]);
    for round in 0_i64..60 {
        world.now += 4 * SECOND;
        world.write("east", 4_000_000_000 + round);
        world.write("west", -round);
        // Its clock jumps to and fro.
        world.write("north", (round % 2) * 3600);
        assert!(world.liveness.look(world.now).is_empty());
    }
    for member in ["east", "west", "north"] {
        assert_eq!(world.standing(member), Standing::Renewing);
    }
}

#[test]
fn time_without_a_live_watch_makes_no_member_silent() {
    for state in [stale(), SourceState::Resyncing, SourceState::Listing] {
        let mut world = World::of(&["east", "west"]);
        world.pass(30, &["east", "west"]);
        world.is_in(state);
        assert!(world.pass(3600, &[]).is_empty());
        world.is_in(SourceState::Live);
        // They renew within the time that they always have.
        assert!(world.pass(20, &[]).is_empty());
        assert!(world.pass(60, &["east", "west"]).is_empty());
    }
}

#[test]
fn a_watch_that_breaks_again_and_again_finds_a_silent_member_all_the_same() {
    let mut world = World::of(&["east", "west"]);
    let mut silent = Vec::new();
    for _ in 0..8 {
        silent.extend(world.pass(20, &["west"]));
        world.is_in(SourceState::Resyncing);
        silent.extend(world.pass(5, &[]));
        world.is_in(SourceState::Live);
    }
    assert_eq!(silent, ["east"]);
}

#[test]
fn who_is_silent_stays_so_while_the_watch_is_stale() {
    let mut world = World::of(&["east", "west"]);
    world.pass(90, &["west"]);
    world.is_in(stale());
    world.pass(600, &[]);
    assert_eq!(world.standing("east"), Standing::Silent);
    assert_eq!(world.standing("west"), Standing::Renewing);
}

#[test]
fn a_process_that_stood_still_makes_no_member_silent() {
    let mut world = World::of(&["east", "west"]);
    world.pass(50, &["east", "west"]);
    for _ in 0..20 {
        // It looks before the renewals that have come meanwhile reach it.
        world.now += 10 * MINUTE;
        assert!(world.liveness.look(world.now).is_empty());
        assert!(world.pass(10, &["east", "west"]).is_empty());
    }
}

/// An API server that stands still looks the same as members that do.
#[test]
fn if_no_member_renews_none_is_silent() {
    let mut world = World::of(&["east", "west", "north"]);
    world.pass(30, &["east", "west", "north"]);
    assert!(world.pass(3600, &[]).is_empty());
    // It answers again, and one of them does not come back.
    assert!(world.pass(30, &["east", "west"]).is_empty());
    assert_eq!(world.pass(60, &["east", "west"]), ["north"]);
}

#[test]
fn a_member_that_is_alone_is_judged() {
    let mut world = World::of(&["east"]);
    world.pass(30, &["east"]);
    assert_eq!(world.pass(70, &[]), ["east"]);
}

#[test]
fn leases_of_other_namespaces_are_none_of_members() {
    let mut world = World::of(&[]);
    let name = ObjectName::new("kube-system", MEMBER_LEASE);
    let lease = MemberLease::default();
    let view = View::of([Object::new(name, "1".into(), "1".into(), lease)]);
    assert!(world.liveness.follow(&world.seen, &view, world.now).is_empty());
    assert_eq!(world.liveness.members(world.now).count(), 0);
}

#[test]
fn the_age_is_that_of_the_last_renewal_that_was_seen() {
    let mut world = World::of(&["east", "west"]);
    world.renew("east");
    world.now += 7 * SECOND;
    let members: Vec<_> = world.liveness.members(world.now).collect();
    let east = ("east", Standing::Renewing, Some(7 * SECOND));
    assert_eq!(members, [east, ("west", Standing::Unknown, None)]);
}

/// A member that renews a thousand times a second is one that renews.
#[test]
fn renewals_that_are_too_frequent_change_nothing_for_others() {
    let mut world = World::of(&["east", "west"]);
    world.pass(10, &["east", "west"]);
    for _ in 0..70_000 {
        world.now += Duration::from_millis(1);
        let time = world.leases["east"].1;
        world.leases.get_mut("east").unwrap().1 = time + 1;
        world.liveness.renewed("fleet-member-east", world.now);
        world.liveness.pass(world.now);
    }
    let silent = world.liveness.look(world.now);
    assert_eq!(silent, [Turn { member: "west".into(), silent: true }]);
}

/// As the watch of an API server shows it: labels are no renewal, and neither is what a Lease of another name contains.
#[test]
fn a_member_renews_on_an_api_server() {
    let mut hub = ModelServer::new(ClusterId::Hub);
    let (own, other) = (
        ObjectName::new("fleet-member-a", MEMBER_LEASE),
        ObjectName::new("fleet-system", "hub-agent"),
    );
    let lease = |time: &str| json!({ "spec": { "holderIdentity": "a", "renewTime": time } });
    for name in [&own, &other] {
        hub.create(kinds::LEASE, name, lease("2026-01-01T00:00:00.000000Z")).unwrap();
    }
    let view = |hub: &ModelServer| hub.view::<MemberLease>(None);
    let mut liveness = Liveness::new(MINUTE);
    let first = view(&hub);
    assert!(liveness.follow(&View::default(), &first, SECOND).is_empty());
    hub.edit(kinds::LEASE, &own, |lease| lease["metadata"]["labels"] = json!({ "a": "b" }))
        .unwrap();
    let labelled = view(&hub);
    assert!(liveness.follow(&first, &labelled, SECOND).is_empty());
    let earlier = json!("2025-01-01T00:00:00.000000Z");
    hub.edit(kinds::LEASE, &own, |lease| lease["spec"]["renewTime"] = earlier).unwrap();
    let turns = liveness.follow(&labelled, &view(&hub), SECOND);
    assert_eq!(turns, [Turn { member: "a".into(), silent: false }]);
    let all: Vec<_> = liveness.members(SECOND).map(|(member, ..)| member.to_owned()).collect();
    assert_eq!(all, ["a"]);
}
