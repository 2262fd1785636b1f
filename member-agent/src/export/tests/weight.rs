//! The weight annotation: 0 withdraws, nonsense changes nothing.

use fleet_api::{ObjectName, annotations, kinds};
use serde_json::{Value, json};

use super::world::{World, backing, pair, service, shop};

/// MSE-4: a weight that is none from the beginning.
#[test]
fn with_an_invalid_weight_nothing_starts() {
    let mut world = World::with_service();
    world.export();
    world.weigh(Some("heavy"));
    world.settle();
    assert_eq!(world.condition("Valid"), pair("False", "ServiceExportInvalidWeightAnnotation"));
    let message = world.whole_condition("Valid")["message"].clone();
    let message = message.as_str().unwrap();
    assert!(message.contains("invalid digit") && message.contains("\"heavy\""), "{message}");
    assert_eq!(world.told(), ["Warning ServiceExportInvalidWeightAnnotation"]);
    assert!(world.whole_condition("Conflict").is_null());
    assert!(world.hub.take_writes().is_empty());
    assert!(world.finalizers().is_null());
}

/// MSE-7: the weight of an export is set out of range. What is exported stays, slices included: they
/// follow the same predicate, where the original withdraws them.
#[test]
fn an_invalid_weight_leaves_what_is_exported() {
    let mut world = World::exported();
    world.weigh(Some("1001"));
    world.settle();
    assert_eq!(world.condition("Valid"), pair("False", "ServiceExportInvalidWeightAnnotation"));
    assert_eq!(world.condition("Conflict"), pair("False", "NoConflictFound"));
    assert_eq!(world.told(), ["Warning ServiceExportInvalidWeightAnnotation"]);
    assert!(world.is_on_hub());
    assert_eq!(world.copies().len(), 1);
    assert_eq!(world.writes().len(), 1, "the status");

    // It is exported as before: Service and slices go on changing.
    world.add_slice(&ObjectName::new("team", "shop-x2"), &backing());
    world.respec("ports", json!([{ "protocol": "TCP", "port": 90 }]));
    world.settle();
    assert_eq!(world.copies().len(), 2);
    assert_eq!(world.internal().unwrap()["spec"]["ports"][0]["port"], json!(90));
}

#[test]
fn another_invalid_weight_is_told_and_the_same_is_not() {
    let mut world = World::exported();
    world.weigh(Some("1001"));
    world.settle();
    world.rest();
    let relabel = |export: &mut Value| export["metadata"]["labels"] = json!({"x": "y"});
    world.own.edit(kinds::SERVICE_EXPORT, &shop(), relabel).unwrap();
    world.settle();
    assert_eq!(world.told(), Vec::<String>::new());
    world.weigh(Some("-3"));
    world.settle();
    assert_eq!(world.told(), ["Warning ServiceExportInvalidWeightAnnotation"]);
    world.weigh(None);
    world.settle();
    assert_eq!(world.condition("Valid"), pair("True", "ServiceIsValid"));
}

/// A withdrawn export does not come back by a typing error.
#[test]
fn an_invalid_weight_after_weight_0_starts_nothing() {
    let mut world = World::exported();
    world.weigh(Some("0"));
    world.settle_with_hub();
    world.weigh(Some("O"));
    world.settle_with_hub();
    assert!(world.internal().is_none());
    assert!(world.copies().is_empty());
}

/// The Service that was exported is another one: nothing of it stays, nothing new starts.
#[test]
fn under_an_invalid_weight_a_recreated_service_is_not_exported() {
    let mut world = World::exported();
    world.weigh(Some("1001"));
    world.settle();
    world.own.delete(kinds::SERVICE, &shop()).unwrap();
    world.own.create(kinds::SERVICE, &shop(), service(&json!({}))).unwrap();
    world.settle_with_hub();
    assert!(world.internal().is_none());
    assert!(world.copies().is_empty());
    assert!(world.finalizers().is_null());
}

/// MSE-8: weight 0 withdraws the Service and, other than in the original, its slices; without the
/// annotation it is exported again.
#[test]
fn weight_0_withdraws_until_it_is_gone() {
    let mut world = World::exported();
    world.weigh(Some("0"));
    world.settle_with_hub();
    assert_eq!(world.condition("Valid"), pair("True", "ServiceIsValid"));
    let message = world.whole_condition("Valid")["message"].clone();
    assert!(message.as_str().unwrap().contains("weight 0"), "{message}");
    assert_eq!(world.condition("Conflict").0, "Unknown", "the verdict was on what is gone");
    assert_eq!(world.told()[0], "Normal Service");
    assert!(world.internal().is_none());
    assert!(world.copies().is_empty());
    assert!(world.finalizers().is_null());

    world.weigh(None);
    world.settle();
    assert!(world.is_on_hub());
    assert!(world.copies().is_empty(), "the hub is asked anew");
    world.judge("False");
    world.settle();
    assert_eq!(world.copies().len(), 1);
    let message = world.whole_condition("Valid")["message"].clone();
    assert!(!message.as_str().unwrap().contains("weight"), "{message}");
}

/// Other weights matter to DNS-based balancing only.
#[test]
fn another_legal_weight_takes_no_write() {
    let mut world = World::exported();
    for weight in ["1", "1000", "+7"] {
        world.weigh(Some(weight));
        assert!(world.plan().is_empty(), "{weight}");
    }
}

/// Importers read the weight in slices, if this member takes part in that.
#[test]
fn slices_carry_the_weight_where_traffic_is_directed() {
    let mut world = World::exported();
    let carried = |world: &World| {
        world.copies()[0]["metadata"]["annotations"][annotations::WEIGHT]
            .as_str()
            .map(str::to_owned)
    };
    world.weigh(Some("7"));
    world.settle();
    assert_eq!(carried(&world), None);
    world.settings.traffic.enabled = true;
    world.settle();
    assert_eq!(carried(&world).as_deref(), Some("7"));
    world.weigh(Some("heavy"));
    world.settle();
    assert_eq!(carried(&world).as_deref(), Some("7"), "what cannot be read changes nothing");
    world.weigh(None);
    world.settle();
    assert_eq!(carried(&world).as_deref(), Some("1"));
    world.hub.take_writes();
    world.settle();
    assert!(world.hub.take_writes().is_empty());
}
