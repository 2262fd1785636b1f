use std::time::Duration;

use fleet_accumulator::{Object, Tracked as _, View};
use fleet_api::ObjectName;
use fleet_api::traffic::FleetTrafficSpec;
use fleet_model::objects::traffic::MemberTraffic;
use serde_json::{Value, json};

use crate::traffic::members::{Followed, MemberMemory};
use crate::traffic::standing::Drained;

/// A member whose silence an administrator has confirmed, if its status states that.
fn member(name: &str, status: &Value) -> Object<MemberTraffic> {
    let confirmed = status["silence"]["confirmed"] == true;
    let spec = if confirmed { json!({ "silence": "Confirmed" }) } else { json!({}) };
    object(&json!({ "metadata": { "name": name, "uid": name }, "spec": spec, "status": status }))
}

fn object(wire: &Value) -> Object<MemberTraffic> {
    let text = |key: &str| wire["metadata"][key].as_str().unwrap().to_owned();
    let (name, uid) = (text("name"), text("uid"));
    let member = MemberTraffic::project(serde_json::from_value(wire.clone()).unwrap()).unwrap();
    Object::new(ObjectName::cluster(name), uid.as_str().into(), "1".into(), member)
}

fn view(members: &[(&str, Value)]) -> View<MemberTraffic> {
    View::of(members.iter().map(|(name, status)| member(name, status)))
}

fn silent(serial: i64) -> Value {
    json!({ "serial": serial, "silence": { "state": "Silent", "percent": 100, "serial": serial } })
}

fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn next(before: &MemberMemory, members: &[(&str, Value)], now: u64) -> MemberMemory {
    before.next(&view(members), &FleetTrafficSpec::default(), None, secs(now))
}

fn is_silenced(memory: &MemberMemory, members: &[(&str, Value)], name: &str) -> bool {
    let view = view(members);
    let member = view.get(&ObjectName::cluster(name)).map(|it| &**it);
    memory.silenced(name, member, true, secs(0)).is_some()
}

/// Members that are found silent, those that are confirmed, and which verdicts one importer of ten members applies.
#[test]
fn an_importer_applies_no_more_verdicts_than_the_hub_agent_may_pass() {
    let names = ["m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9"];
    let table: [(&[usize], &[usize], &[usize]); 5] = [
        (&[], &[], &[]),
        (&[3], &[], &[3]),
        (&[3, 5], &[], &[3, 5]),
        (&[3, 5, 7, 8], &[], &[3, 5]),
        (&[3, 5, 7, 8], &[8, 7], &[3, 5, 7, 8]),
    ];
    for (found, confirmed, applied) in table {
        let status = |at: usize| {
            if !found.contains(&at) {
                return json!({ "serial": 100 });
            }
            let mut status = silent(i64::try_from(at).unwrap());
            status["silence"]["confirmed"] = json!(confirmed.contains(&at));
            status
        };
        let members: Vec<_> = names.iter().enumerate().map(|(at, it)| (*it, status(at))).collect();
        let memory = next(&MemberMemory::default(), &members, 0);
        let here = (0..10).filter(|at| is_silenced(&memory, &members, names[*at]));
        assert_eq!(here.collect::<Vec<_>>(), applied, "{found:?} {confirmed:?}");
    }
}

/// A hub agent that has gone wrong confirms nothing by itself.
#[test]
fn only_administrators_confirm() {
    let mut status = silent(1);
    status["silence"]["confirmed"] = json!(true);
    let others = ["b", "c"].map(|name| member(name, &silent(2)));
    let alone = json!({ "metadata": { "name": "a", "uid": "a" }, "spec": {}, "status": status });
    let alone = object(&alone);
    let all = View::of(others.into_iter().chain([alone]));
    let memory = MemberMemory::default().next(&all, &FleetTrafficSpec::default(), None, secs(0));
    let applies = |name: &str| {
        let member = all.get(&ObjectName::cluster(name)).map(|it| &**it);
        memory.silenced(name, member, true, secs(0)).is_some()
    };
    assert_eq!(["a", "b", "c"].map(applies), [true, false, false], "one of three, the oldest");
}

/// What is applied stays so, whatever older verdicts come to be known.
#[test]
fn applied_verdicts_come_before_older_ones() {
    let first = [("a", silent(5)), ("b", json!({}))];
    let memory = next(&MemberMemory::default(), &first, 0);
    let both = [("a", silent(5)), ("b", silent(3))];
    let memory = next(&memory, &both, 1);
    assert!(is_silenced(&memory, &both, "a") && !is_silenced(&memory, &both, "b"));
}

#[test]
fn the_time_of_a_verdict_is_that_of_the_importer() {
    let members = [("a", silent(5)), ("b", json!({}))];
    let mut memory = next(&MemberMemory::default(), &members, 100);
    memory = next(&memory, &members, 160);
    let known_for = |memory: &MemberMemory, members: &[(&str, Value)], now: u64| {
        let view = view(members);
        let member = view.get(&ObjectName::cluster("a")).map(|it| &**it);
        memory.silenced("a", member, true, secs(now)).map(|it| it.known_for)
    };
    assert_eq!(known_for(&memory, &members, 170), Some(secs(70)));
    let heard = [("a", json!({})), ("b", json!({}))];
    memory = next(&memory, &heard, 171);
    memory = next(&memory, &members, 180);
    assert_eq!(known_for(&memory, &members, 180), Some(secs(0)), "it was not silent in between");
}

/// A member that returns keeps its place among the verdicts until it has returned.
#[test]
fn one_that_returns_is_applied_beside_the_bound() {
    let returning =
        |percent: i64| json!({ "serial": 9, "silence": { "state": "Heard", "percent": percent } });
    let before = [("a", silent(5)), ("b", json!({}))];
    let memory = next(&MemberMemory::default(), &before, 0);
    let now = [("a", returning(75)), ("b", silent(8))];
    let memory = next(&memory, &now, 1);
    assert!(is_silenced(&memory, &now, "a") && is_silenced(&memory, &now, "b"));
    let back = [("a", returning(0)), ("b", silent(8))];
    let memory = next(&memory, &back, 2);
    assert!(!is_silenced(&memory, &back, "a"));
}

#[test]
fn members_of_one_failure_domain_count_as_one() {
    let domain = |name: &str, serial: i64| {
        let mut status = silent(serial);
        status["properties"] = json!({ "site": name });
        status
    };
    let fleet = FleetTrafficSpec {
        domain_property: Some("site".to_owned()),
        ..FleetTrafficSpec::default()
    };
    let count = |c: &str| {
        let members = [("a", domain("x", 1)), ("b", domain("x", 2)), ("c", domain(c, 3))];
        let memory = MemberMemory::default().next(&view(&members), &fleet, None, secs(0));
        ["a", "b", "c"].iter().filter(|it| is_silenced(&memory, &members, it)).count()
    };
    assert_eq!((count("x"), count("y")), (3, 2));
}

fn drains(serial: i64, percent: i64) -> Value {
    let drain = json!({ "service": "*", "percent": percent, "reason": "Draining" });
    json!({ "serial": serial, "drains": [drain] })
}

/// An object: its uid, the drain that it asks for, its serial, and how far the drain is.
type OnHub = (&'static str, i64, i64, i64);

fn of_hub(hub: Option<OnHub>) -> View<MemberTraffic> {
    let object = hub.map(|(uid, asked, serial, percent)| {
        let status =
            if percent == 0 { json!({ "serial": serial }) } else { drains(serial, percent) };
        let spec = if asked == 0 {
            json!({})
        } else {
            json!({ "drains": [{ "service": "*", "percent": asked }] })
        };
        let metadata = json!({ "name": "a", "uid": uid });
        object(&json!({ "metadata": metadata, "spec": spec, "status": status }))
    });
    View::of(object)
}

fn look(memory: &MemberMemory, hub: Option<OnHub>) -> MemberMemory {
    memory.next(&of_hub(hub), &FleetTrafficSpec::default(), None, secs(0))
}

/// The hub that is followed, and the name of this cluster there.
fn followed(own: &str) -> Followed<'_> {
    Followed { own, incarnation: "hub/0" }
}

/// Looks at what the hub has, one after the other, and compares the percent in force.
fn follow_story(story: &[(Option<OnHub>, u8)]) -> MemberMemory {
    let mut memory = MemberMemory::default();
    for (at, (hub, expected)) in story.iter().enumerate() {
        memory = look(&memory, *hub);
        assert_eq!(memory.drained("a", "shop/web").percent, *expected, "step {at}");
        assert_eq!(memory, look(&memory, *hub), "looking again changes nothing");
        let noted = memory.hand_on();
        let next = noted.map(|noted| MemberMemory::default().taking_over(&noted).unwrap());
        let next = next.unwrap_or_default();
        assert_eq!(memory, look(&next, *hub), "the next process applies the same");
    }
    memory
}

#[test]
fn drains_follow_the_hub_unless_it_goes_back_in_time() {
    let story = [
        (Some(("u", 100, 3, 50)), 50),
        (Some(("u", 100, 4, 100)), 100),
        // A backup, which goes on, with other decisions about the member.
        (Some(("u", 10, 2, 10)), 100),
        (Some(("u", 10, 9, 0)), 100),
        (None, 100),
        (Some(("u", 10, 12, 20)), 100),
        // An administrator ends the drain.
        (Some(("u", 0, 13, 0)), 0),
        (Some(("u", 30, 14, 30)), 30),
        (None, 30),
        (Some(("u", 30, 14, 30)), 30),
        (Some(("u", 90, 15, 90)), 90),
        // A new hub, whose agent counts from the beginning, and takes up the drain.
        (Some(("new", 0, 1, 0)), 90),
        (Some(("new", 0, 99, 40)), 90),
        (Some(("new", 0, 100, 100)), 100),
        (Some(("newer", 100, 3, 0)), 100),
        (Some(("newer", 0, 4, 0)), 0),
    ];
    let mut memory = follow_story(&story);
    assert_eq!(memory.reverted(), 0);
    memory = look(&look(&memory, Some(("newer", 9, 5, 10))), Some(("newer", 9, 4, 0)));
    assert_eq!(memory.reverted(), 1);
}

/// The request arrives before the hub agent has begun, and the drain begins at nothing.
#[test]
fn a_drain_that_is_asked_for_anew_takes_nothing_back() {
    let story = [
        (Some(("u", 100, 4, 100)), 100),
        (Some(("new", 0, 1, 0)), 100),
        (Some(("new", 100, 1, 0)), 100),
        (Some(("new", 100, 2, 50)), 100),
        (Some(("new", 100, 3, 100)), 100),
        // From here on it is followed.
        (Some(("new", 100, 4, 80)), 80),
    ];
    assert_eq!(follow_story(&story).reverted(), 0);
    let less = [
        (Some(("u", 100, 4, 100)), 100),
        (Some(("new", 0, 1, 0)), 100),
        (Some(("new", 30, 1, 10)), 100),
        (Some(("new", 30, 2, 30)), 30),
    ];
    assert_eq!(follow_story(&less).reverted(), 0);
}

/// While the object of this cluster stays, the hub has lost nothing.
#[test]
fn a_member_that_joins_again_on_the_same_hub_is_not_drained() {
    let on_hub = |own: &str, other: &str, status: Value| {
        let named = |name: &str, uid: &str, status: Value| {
            let metadata = json!({ "name": name, "uid": uid });
            object(&json!({ "metadata": metadata, "spec": {}, "status": status }))
        };
        View::of([named("own", own, json!({})), named("a", other, status)])
    };
    let story = |own_name: Option<&str>, own: &str| {
        let fleet = FleetTrafficSpec::default();
        let look = |memory: &MemberMemory, view: &View<MemberTraffic>| {
            memory.next(view, &fleet, own_name.map(followed), secs(0))
        };
        let memory = look(&MemberMemory::default(), &on_hub("own", "first", drains(4, 100)));
        let memory = look(&memory, &View::of([]));
        let memory = look(&memory, &on_hub(own, "second", json!({})));
        memory.drained("a", "shop/web").percent
    };
    assert_eq!(story(Some("own"), "own"), 0);
    assert_eq!(story(Some("own"), "another"), 100, "all objects are others: the hub was lost");
    assert_eq!(story(None, "own"), 100, "a backup, in which it joined again");
}

/// What is decided of a member beside its drains ends none.
#[test]
fn a_member_that_is_forgotten_stays_drained() {
    let on_hub = |spec: Value| {
        let metadata = json!({ "name": "a", "uid": "new", "generation": 2 });
        View::of([object(&json!({ "metadata": metadata, "spec": spec, "status": {} }))])
    };
    let mut memory = look(&MemberMemory::default(), Some(("u", 100, 4, 100)));
    for spec in [json!({}), json!({ "forgottenIn": "hub/1" }), json!({ "silence": "Never" })] {
        memory = memory.next(&on_hub(spec), &FleetTrafficSpec::default(), None, secs(0));
        assert_eq!(memory.drained("a", "shop/web").percent, 100);
    }
}

/// A Service that the hub agent holds back on a hub that went back is not drained: none is left without endpoints.
#[test]
fn what_an_earlier_hub_holds_back_is_held_back() {
    let with = |serial: i64, held: &[&str]| {
        let mut status = drains(serial, 100);
        status["heldServices"] = json!(held);
        let memory = [("a", status)];
        view(&memory)
    };
    let fleet = FleetTrafficSpec::default();
    let memory = MemberMemory::default().next(&with(5, &["shop/a"]), &fleet, None, secs(0));
    let memory = memory.next(&with(4, &["shop/b"]), &fleet, None, secs(0));
    let percent = |service: &str| memory.drained("a", service).percent;
    assert_eq!([percent("shop/a"), percent("shop/b"), percent("shop/c")], [0, 0, 100]);
}

/// The backup holds back a Service that has another exporter since: what it lifts when it knows of that counts.
#[test]
fn what_a_restored_hub_lifts_is_lifted_once_it_is_followed() {
    let with = |asked: i64, serial: i64, held: &[&str]| {
        let mut status = drains(serial, 100);
        status["heldServices"] = json!(held);
        let spec = json!({ "drains": [{ "service": "*", "percent": asked }] });
        let named = |name: &str, spec: Value, status: Value| {
            let metadata = json!({ "name": name, "uid": name });
            object(&json!({ "metadata": metadata, "spec": spec, "status": status }))
        };
        View::of([named("own", json!({}), json!({})), named("a", spec, status)])
    };
    let fleet = FleetTrafficSpec::default();
    let look = |memory: &MemberMemory, hub: &View<MemberTraffic>, own: Option<&str>| {
        memory.next(hub, &fleet, own.map(followed), secs(0))
    };
    let percent = |memory: &MemberMemory| memory.drained("a", "shop/web").percent;
    let applied = look(&MemberMemory::default(), &with(100, 5, &[]), Some("own"));
    let memory = look(&applied, &with(100, 4, &["shop/web"]), None);
    assert_eq!(percent(&memory), 0);
    let lifted = with(100, 6, &[]);
    let memory = look(&memory, &lifted, None);
    assert_eq!(percent(&memory), 0, "its exporters may not have come back");
    let memory = look(&memory, &lifted, Some("own"));
    assert_eq!((percent(&memory), memory.reverted()), (100, 0));
    // The backup asks for less than is applied.
    let memory = look(&applied, &with(10, 4, &["shop/web"]), None);
    let memory = look(&memory, &with(10, 6, &[]), Some("own"));
    assert_eq!((percent(&memory), memory.reverted()), (0, 1));
}

/// The watch of a process that takes over hangs behind what the last one has applied: an undrain that goes on does not become a drain
/// for good. In a hub that was restored it does, whatever serials it gets to.
#[test]
fn an_old_view_of_the_same_hub_ends_no_undrain() {
    let story = |incarnations: [Option<&'static str>; 3]| {
        let look = |memory: &MemberMemory, serial: i64, percent: i64, hub: Option<&'static str>| {
            let own = member("own", &json!({}));
            let others = of_hub(Some(("u", 0, serial, percent)));
            let view = View::of(others.iter().cloned().chain([own]));
            let hub = hub.map(|incarnation| Followed { own: "own", incarnation });
            memory.next(&view, &FleetTrafficSpec::default(), hub, secs(0))
        };
        let noted = |memory: &MemberMemory| memory.hand_on().unwrap_or_else(|| "{}".to_owned());
        let mut memory = look(&MemberMemory::default(), 11, 75, Some("hub/0"));
        let views = [(10, 100), (12, 50), (13, 0)].into_iter().zip(incarnations);
        let percents = views.map(|((serial, percent), hub)| {
            // Each time in another process.
            let next = MemberMemory::default().taking_over(&noted(&memory)).unwrap();
            memory = look(&next, serial, percent, hub);
            memory.drained("a", "shop/web").percent
        });
        percents.collect::<Vec<_>>()
    };
    assert_eq!(story([Some("hub/0"); 3]), [100, 50, 0]);
    assert_eq!(story([Some("hub/0"), Some("hub/1"), Some("hub/1")]), [100; 3]);
    assert_eq!(story([None, Some("hub/1"), Some("hub/1")]), [100; 3], "it has seen the restore");
    assert_eq!(story([None, Some("hub/0"), Some("hub/0")]), [100; 3], "no epoch came of it");
}

#[test]
fn an_entry_of_a_service_comes_before_that_of_all() {
    let entry = |service: &str, percent: i64| json!({ "service": service, "percent": percent, "reason": "Draining", "removed": percent == 100 });
    let members = [(
        "a",
        json!({
            "serial": 1, "drains": [entry("*", 100), entry("shop/web", 20)],
            "heldServices": ["shop/held"],
        }),
    )];
    let memory = next(&MemberMemory::default(), &members, 0);
    let drained = |service: &str| memory.drained("a", service);
    assert_eq!(drained("shop/web"), Drained { percent: 20, removed: false });
    assert_eq!(drained("shop/other"), Drained { percent: 100, removed: true });
    assert_eq!(drained("shop/held"), Drained::default());
    assert_eq!(memory.drained("b", "shop/web"), Drained::default());
}
