//! The decisions of administrators as entries of the ConfigMap `fleet-offload`. Pure.

use std::collections::BTreeMap;

use fleet_api::offload::{
    ACCEPT_PREFIX, AcceptedExecutor, CONSENT, Capacity, Disconnect, DisconnectMode,
    OffloadOfferSpec, OffloadTerms, OriginDns, OriginSelector, Topology,
};
use serde_json::{Value, json};

use super::args::{AcceptArgs, OfferArgs};

/// Domain of a cluster by default.
const DOMAIN: &str = "cluster.local";

/// An entry of the ConfigMap; `None` removes it.
pub(super) type Entry = (String, Option<String>);

/// The spec of an offer.
pub(super) fn offer(args: &OfferArgs) -> OffloadOfferSpec {
    let mode = args.stop_after.map_or(DisconnectMode::Keep, |_| DisconnectMode::StopAfter);
    OffloadOfferSpec {
        origin_selector: OriginSelector {
            clusters: args.to.clone(),
            match_labels: BTreeMap::new(),
        },
        capacity: Capacity {
            cpu: args.cpu.clone(),
            memory: args.memory.clone(),
            pods: args.pods,
            ..Capacity::default()
        },
        topology: Topology { region: args.region.clone(), zone: args.zone.clone(), arch: None },
        terms: OffloadTerms {
            namespaces: args.namespaces.clone(),
            policy_profile: args.profile.into(),
            secrets: args.secrets.clone(),
            origin_dns: args.origin_dns,
            disconnect: Disconnect { mode, seconds: args.stop_after },
            ..OffloadTerms::default()
        },
        draining: args.drain,
        origin_ttl_seconds: 24 * 60 * 60,
    }
}

/// What an origin uses of an executor. What is not asked for stays as it was decided before: a Pod whose Secrets are not accepted any more
/// would end when the hub has to be built anew.
pub(super) fn accepted(args: &AcceptArgs, present: Option<&str>) -> AcceptedExecutor {
    let before = read(present);
    let given = |list: &Option<Vec<String>>| {
        list.as_ref().map(|all| all.iter().filter(|it| !it.is_empty()).cloned().collect())
    };
    let (servers, domain) =
        before.dns.map_or_else(Default::default, |it| (it.servers, Some(it.domain)));
    let servers: Vec<_> = given(&args.dns_servers).unwrap_or(servers);
    let domain = args.dns_domain.clone().or(domain).unwrap_or_else(|| DOMAIN.to_owned());
    AcceptedExecutor {
        cap: before.cap,
        secrets: given(&args.secrets).unwrap_or(before.secrets),
        dns: (!servers.is_empty()).then_some(OriginDns { servers, domain }),
        draining: args.drain,
        abandoned: false,
    }
}

/// The entry with which an origin gives an executor up. What it has decided about it otherwise stays.
pub(super) fn abandoned(present: Option<&str>) -> AcceptedExecutor {
    AcceptedExecutor { abandoned: true, ..read(present) }
}

/// An entry; one that cannot be read has decided nothing.
fn read(present: Option<&str>) -> AcceptedExecutor {
    present.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// The ConfigMap with one entry, for a cluster that has none.
pub(super) fn config_map(namespace: &str, (key, value): &Entry) -> Value {
    let data = value.as_ref().map(|value| json!({ key: value }));
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": CONSENT, "namespace": namespace },
        "data": data.unwrap_or_else(|| json!({})),
    })
}

/// The merge patch that sets or removes one entry. Entries that others write at the same time stay.
pub(super) fn patch((key, value): &Entry) -> Value {
    json!({ "data": { key: value } })
}

/// The executors that an origin's administrators have accepted, by the entries of the ConfigMap.
pub(super) fn executors(data: &Value) -> Vec<String> {
    let keys = data.as_object().into_iter().flat_map(|data| data.keys());
    keys.filter_map(|key| key.strip_prefix(ACCEPT_PREFIX)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use fleet_model::objects::offload::OffloadConsent;

    use super::*;
    use crate::args::{Cli, Command};
    use crate::offload::OffloadCommand;

    fn parse(arguments: &str) -> OffloadCommand {
        let all = ["fleetctl", "offload"].into_iter().chain(arguments.split(' '));
        match Cli::try_parse_from(all).unwrap().command {
            Command::Offload(command) => command,
            other => panic!("{other:?}"),
        }
    }

    /// What is written is what the agent reads.
    #[test]
    fn an_agent_reads_what_is_written() {
        let OffloadCommand::Offer(args) = parse(
            "offer west --to east,north --cpu 4 --memory 8Gi --pods 20 --namespaces shop --stop-after 60",
        ) else {
            panic!()
        };
        let text = serde_json::to_string(&offer(&args)).unwrap();
        let read: OffloadOfferSpec = serde_json::from_str(&text).unwrap();
        assert_eq!(read.origin_selector.clusters, ["east", "north"]);
        assert_eq!((read.capacity.pods, read.terms.disconnect.stop_after()), (20, Some(60)));
        assert_eq!(read.terms.policy_profile, fleet_api::offload::PolicyProfile::Restricted);
        let OffloadCommand::Accept(args) =
            parse("accept west --origin east --secrets shop/tls --dns-servers 10.0.0.10")
        else {
            panic!()
        };
        let entry = ("accept.west".to_owned(), serde_json::to_string(&accepted(&args, None)).ok());
        let object = config_map("fleet-system", &entry);
        let wire = serde_json::from_value(object).unwrap();
        let consent = <OffloadConsent as fleet_accumulator::Tracked>::project(wire).unwrap();
        let west = consent.accepted["west"].as_ref().unwrap();
        assert_eq!((&*west.secrets, west.abandoned), (&["shop/tls".to_owned()][..], false));
        assert_eq!(west.dns.as_ref().unwrap().domain, "cluster.local");
    }

    #[test]
    fn who_accepts_again_keeps_what_is_not_asked_for() {
        let before = r#"{ "cap": { "cpu": "2", "memory": "4Gi", "pods": 5 }, "secrets": ["shop/tls"], "draining": true, "abandoned": true,
            "dns": { "servers": ["10.0.0.10"], "domain": "east.example" } }"#;
        let after = |arguments: &str, present: Option<&str>| {
            let OffloadCommand::Accept(args) = parse(arguments) else { panic!() };
            accepted(&args, present)
        };
        let again = after("accept west --origin east", Some(before));
        assert_eq!(again.cap.map(|cap| cap.cpu).as_deref(), Some("2"));
        assert_eq!(again.secrets, ["shop/tls"]);
        assert_eq!(again.dns.unwrap().domain, "east.example");
        assert!(!again.draining && !again.abandoned, "that is what it is for");
        let other =
            after("accept west --origin east --secrets= --dns-servers 10.0.0.11", Some(before));
        assert_eq!(other.secrets, Vec::<String>::new());
        let dns = other.dns.unwrap();
        assert_eq!(
            (dns.servers, dns.domain),
            (vec!["10.0.0.11".to_owned()], "east.example".to_owned())
        );
        let none = after("accept west --origin east --dns-servers= --drain", Some(before));
        assert!(none.dns.is_none() && none.draining);
        assert_eq!(after("accept west --origin east", Some("yes")), AcceptedExecutor::default());
    }

    #[test]
    fn who_gives_an_executor_up_keeps_what_else_was_decided() {
        let before = r#"{ "secrets": ["shop/tls"] }"#;
        let after = abandoned(Some(before));
        assert!(after.abandoned && after.secrets == ["shop/tls"]);
        assert!(abandoned(None).abandoned && abandoned(Some("yes")).abandoned);
    }

    #[test]
    fn who_is_accepted_has_an_entry() {
        let data = json!({ "accept.north": "{}", "accept.west": "", "offer": "{}" });
        assert_eq!(executors(&data), ["north", "west"]);
        assert!(executors(&Value::Null).is_empty());
    }

    #[test]
    fn to_abandon_takes_the_name_of_who_does() {
        let all = ["fleetctl", "offload", "withdraw", "west", "--abandon"];
        assert!(Cli::try_parse_from(all).is_err());
        assert_eq!(
            patch(&("accept.west".to_owned(), None)),
            json!({ "data": { "accept.west": null } })
        );
    }
}
