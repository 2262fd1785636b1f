//! docs/design/traffic.md#own-endpoints

use crate::{LocalEndpoints, LocalFacts, NotEligible};

#[test]
fn what_keeps_the_agent_in_charge() {
    let fine = LocalFacts {
        allowed: true,
        served: true,
        accepted: true,
        alone_in_first_rank: true,
        has_selector: true,
        same_ports: true,
        selected_only: true,
        here_only: true,
        shaped: false,
    };
    let rows = [
        (fine, None),
        (LocalFacts { allowed: false, ..fine }, Some(NotEligible::NotAllowed)),
        (LocalFacts { served: false, ..fine }, Some(NotEligible::NotServed)),
        (LocalFacts { accepted: false, ..fine }, Some(NotEligible::NotAccepted)),
        (LocalFacts { alone_in_first_rank: false, ..fine }, Some(NotEligible::SharedRank)),
        (LocalFacts { has_selector: false, ..fine }, Some(NotEligible::NoSelector)),
        (LocalFacts { same_ports: false, ..fine }, Some(NotEligible::OtherPorts)),
        (LocalFacts { selected_only: false, ..fine }, Some(NotEligible::OtherEndpoints)),
        (LocalFacts { here_only: false, ..fine }, Some(NotEligible::VirtualNodes)),
        (LocalFacts { shaped: true, ..fine }, Some(NotEligible::Shaped)),
    ];
    for (facts, refusal) in rows {
        let mode =
            if refusal.is_none() { LocalEndpoints::Kubernetes } else { LocalEndpoints::Agent };
        assert_eq!(LocalEndpoints::Kubernetes.in_force(facts), (mode, refusal));
        assert_eq!(LocalEndpoints::Agent.in_force(facts), (LocalEndpoints::Agent, None));
    }
}
