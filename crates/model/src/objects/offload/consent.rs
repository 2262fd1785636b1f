//! What the administrators of a member have decided about Pods of others and Pods for others.

use std::collections::BTreeMap;

use fleet_accumulator::{Tracked, wire};
use fleet_api::offload::{
    ACCEPT_PREFIX, AcceptedExecutor, OFFER, OffloadOfferSpec, PROFILE_VERSION,
};
use fleet_api::{ObjectName, ResourceKind, kinds};
use k8s_openapi::api::core::v1 as core;

wire! {
    /// A ConfigMap on the wire.
    pub struct OffloadConsentWire as core::ConfigMap {
        data: Option<BTreeMap<String, String>>,
    }
}

/// The ConfigMap `fleet-offload` in the system namespace of a member. An entry that cannot be read neither offers nor accepts
/// anything new, and takes nothing back: the others count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OffloadConsent {
    /// What the member offers as an executor; an error is why it cannot be read.
    pub offer: Option<Result<OffloadOfferSpec, Box<str>>>,
    /// The executors that it accepts, by name.
    pub accepted: BTreeMap<Box<str>, Result<AcceptedExecutor, Box<str>>>,
}

impl Tracked for OffloadConsent {
    const KIND: ResourceKind = kinds::CONFIG_MAP;
    // `fleet_api::offload::CONSENT`.
    const FIELDS: Option<&'static str> = Some("metadata.name=fleet-offload");
    type Wire = OffloadConsentWire;
    type Index = ();

    fn project(wire: OffloadConsentWire) -> Result<Self, String> {
        let data = wire.data.unwrap_or_default();
        let offer = data.get(OFFER).map(|text| read(text).map(with_own_profile));
        let accepted = data.iter().filter_map(|(key, text)| {
            let executor = key.strip_prefix(ACCEPT_PREFIX)?;
            Some((executor.into(), read(text)))
        });
        Ok(Self { offer, accepted: accepted.collect() })
    }

    fn index(&self, _: &ObjectName) -> Vec<()> {
        Vec::new()
    }
}

/// What of a Pod crosses is the table of this agent, whatever an administrator states about it.
fn with_own_profile(mut offer: OffloadOfferSpec) -> OffloadOfferSpec {
    offer.terms.profile_version = PROFILE_VERSION;
    offer
}

/// A value that is empty accepts all that is offered.
fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Box<str>> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    serde_json::from_str(text).map_err(|error| error.to_string().into())
}

#[cfg(test)]
mod tests {
    use fleet_api::offload::CONSENT;
    use serde_json::{Value, json};

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "a literal of each case")]
    fn consent(data: Value) -> OffloadConsent {
        let object = json!({ "metadata": { "name": CONSENT }, "data": data });
        OffloadConsent::project(serde_json::from_value(object).unwrap()).unwrap()
    }

    #[test]
    fn the_selector_has_the_name() {
        assert_eq!(OffloadConsent::FIELDS.unwrap(), format!("metadata.name={CONSENT}"));
    }

    #[test]
    fn each_executor_has_its_own_entry() {
        let consent = consent(json!({
            "accept.west": "",
            "accept.north": r#"{ "secrets": ["shop/tls"], "abandoned": true }"#,
            "accept.south": "yes",
            "offer": r#"{ "originSelector": { "clusters": ["east"] },
                "capacity": { "cpu": "4", "memory": "8Gi", "pods": 10 }, "terms": { "namespaces": ["*"] } }"#,
            "note": "mine",
        }));
        let names: Vec<_> = consent.accepted.keys().map(|name| &**name).collect();
        assert_eq!(names, ["north", "south", "west"]);
        assert_eq!(consent.accepted["west"], Ok(AcceptedExecutor::default()));
        let north = consent.accepted["north"].as_ref().unwrap();
        assert_eq!((&*north.secrets, north.abandoned), (&["shop/tls".to_owned()][..], true));
        assert!(consent.accepted["south"].is_err());
        let offer = consent.offer.unwrap().unwrap();
        assert_eq!((offer.capacity.pods, offer.origin_ttl_seconds), (10, 86_400));
    }

    #[test]
    fn the_profile_is_that_of_the_agent() {
        for stated in ["", r#", "profileVersion": 4711"#] {
            let offer = format!(
                r#"{{ "originSelector": {{}}, "capacity": {{ "cpu": "4", "memory": "8Gi", "pods": 10 }},
                    "terms": {{ "namespaces": []{stated} }} }}"#
            );
            let offer = consent(json!({ "offer": offer })).offer.unwrap().unwrap();
            assert_eq!(offer.terms.profile_version, PROFILE_VERSION);
        }
    }

    #[test]
    fn without_entries_nothing_is_offered_or_accepted() {
        assert_eq!(consent(json!(null)), OffloadConsent::default());
    }
}
