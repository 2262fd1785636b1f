//! A derived Service outlives its last exporter for a while.

use std::time::Duration;

use fleet_api::{events, kinds};
use serde_json::json;

use super::{World, derived, granted, shop};

const GRACE: Duration = Duration::from_mins(1);

/// A member that imports shop at an address of its own, with a grace period.
fn world() -> World {
    let mut world = World::importing();
    world.settings.derived_service_grace = GRACE;
    world.edit(kinds::SERVICE, &derived(), |service| {
        service["status"] = json!({ "loadBalancer": { "ingress": [{ "ip": "192.0.2.1" }] } });
    });
    world.settle();
    world
}

fn address(world: &World) -> &serde_json::Value {
    &world.mcs(&shop()).unwrap()["status"]["loadBalancer"]["ingress"][0]["ip"]
}

/// MCS-19: with all exports gone the MultiClusterService is Unknown, and the endpoints leave at once. Unlike in
/// the original the derived Service and its address stay for the grace period, and the MultiClusterService reports
/// until when.
#[test]
fn endpoints_leave_at_once_and_the_address_stays() {
    let mut world = world();
    world.own.advance(100);
    world.revoke();
    assert_eq!(world.plan().wake_after, Some(GRACE));
    world.rest();
    assert!(world.slice().is_none());
    assert!(world.derived().is_some());
    assert_eq!(address(&world), "192.0.2.1");
    let (status, message) = world.valid(&shop());
    assert_eq!(status, "Unknown");
    let end = world.own.now() + GRACE;
    assert!(message.ends_with(&format!("is kept until {end}")), "{message}");
    assert!(world.plan().is_empty());
    assert_eq!(world.reasons(), [] as [&str; 0]);
}

#[test]
fn a_redeploy_finds_the_same_address() {
    let mut world = world();
    let before = world.derived().unwrap()["metadata"]["uid"].clone();
    world.revoke();
    world.rest();
    world.own.advance(59);
    let mut other = granted();
    other["ports"][0]["port"] = json!(81);
    world.grant(other);
    world.distribute(&["10.1.0.7"]);
    world.rest();
    assert_eq!(world.derived().unwrap()["metadata"]["uid"], before);
    assert_eq!(world.derived().unwrap()["spec"]["ports"][0]["port"], 81);
    assert_eq!(world.slice().unwrap()["endpoints"], json!([{ "addresses": ["10.1.0.7"] }]));
    assert_eq!(address(&world), "192.0.2.1");
    assert_eq!(world.valid(&shop()).0, "True");
}

/// The period is counted from the transition of the condition: what is planned meanwhile, by this
/// process or its successor, does not start it anew.
#[test]
fn the_period_ends_once() {
    let mut world = world();
    world.revoke();
    world.rest();
    world.own.advance(40);
    assert_eq!(world.plan().wake_after, Some(Duration::from_secs(20)));
    world.own.advance(19);
    assert!(world.plan().is_empty());
    world.own.advance(1);
    assert_eq!(world.reasons(), [events::UNIMPORTED_SERVICE]);
    world.rest();
    assert!(world.derived().is_none());
    assert!(address(&world).is_null());
    assert!(!world.valid(&shop()).1.contains("stays"));

    // Another loss has a period of its own.
    world.grant(granted());
    world.rest();
    world.own.advance(100);
    world.revoke();
    world.rest();
    assert!(world.derived().is_some());
}

/// A short gap that is over before "waiting" is written causes no write.
#[test]
fn a_blip_writes_nothing() {
    let mut world = world();
    world.own.take_writes();
    world.grant(json!({}));
    world.settle();
    world.grant(granted());
    world.settle();
    let kinds: Vec<_> = world.own.take_writes().into_iter().map(|write| write.kind).collect();
    assert_eq!(kinds, ["ServiceImport", "ServiceImport"]);
}

/// The address that changes during the period is the user's to know.
#[test]
fn the_address_is_followed_meanwhile() {
    let mut world = world();
    world.revoke();
    world.rest();
    world.edit(kinds::SERVICE, &derived(), |service| service["status"] = json!({}));
    world.rest();
    assert!(address(&world).is_null());
}

#[test]
fn a_deleted_mcs_has_no_grace() {
    let mut world = world();
    world.revoke();
    world.rest();
    world.delete_mcs(&shop());
    world.settle();
    assert!(world.derived().is_none());
    assert!(world.mcs(&shop()).is_none());
}

/// A Go agent does not annotate a derived Service with its import; the label of the MultiClusterService names it.
#[test]
fn an_adopted_service_has_grace_too() {
    let mut world = world();
    world.edit(kinds::SERVICE, &derived(), |service| {
        service["metadata"]["annotations"] = json!({});
    });
    world.grant(json!({}));
    world.rest();
    assert!(world.derived().is_some());
    world.point(&shop(), "desk");
    world.settle_for(&[fleet_api::ObjectName::new("team", "desk"), shop()]);
    assert!(world.derived().is_none(), "the label named another import");
}

#[test]
fn a_period_without_end_sets_no_absurd_timer() {
    let mut world = world();
    world.settings.derived_service_grace = Duration::MAX;
    world.revoke();
    world.rest();
    assert_eq!(world.plan().wake_after, Some(Duration::from_hours(24)));
}
