//! What members of which all holders are silent export yields to what others export.

use super::*;

use fleet_api::multicluster::ServiceType;

use Precedence::{AsBefore, ByAge, Yields};

/// Exports of "a", "b" and so on, the oldest first, each with its ports.
fn fleet(exports: &[(Precedence, &[&str])]) -> Vec<Export<'static>> {
    let clusters = ["a", "b", "c", "d"].into_iter().zip(1..);
    let export = |((cluster, second), (precedence, texts)): ((_, _), &(_, &[&str]))| Export {
        precedence: *precedence,
        ..export(cluster, second, with_ports(texts))
    };
    clusters.zip(exports).map(export).collect()
}

/// The ports in force, the winner, and who lacks which of its ports.
type Outcome<'a> = (Vec<ServicePort>, &'a str, Vec<(&'a str, Vec<&'a str>)>);

fn outcome(resolution: &Resolution) -> Outcome<'_> {
    let lacking = resolution.spec.exporters.iter().filter(|it| !it.withheld.is_empty());
    let lacking = lacking
        .map(|it| (it.cluster.as_str(), it.withheld.iter().map(String::as_str).collect()))
        .collect();
    (resolution.spec.properties.ports.clone(), &resolution.spec.winner, lacking)
}

#[test]
fn ports_of_which_all_holders_are_silent_yield_to_the_oldest_other_export() {
    let (http, other) = (&["http 80/TCP"][..], &["http 8080/TCP"][..]);
    let found = resolved(&fleet(&[(Yields, http), (ByAge, other), (ByAge, &["http 9090/TCP"])]));
    let lacking = vec![("a", vec!["http"]), ("c", vec!["http"])];
    assert_eq!(outcome(&found), (ports(other), "b", lacking));
    assert_eq!(found.yielding, ["a".to_owned()].into());
    let message = &found.spec.conflicts[0].message;
    assert!(
        message.contains("b, which has the oldest export of a cluster that is not silent"),
        "{message}"
    );

    // Once no member is silent any more, age counts.
    let found = resolved_after(&fleet(&[(ByAge, http), (ByAge, other)]), &found);
    assert_eq!(outcome(&found), (ports(http), "a", vec![("b", vec!["http"])]));
    assert!(found.yielding.is_empty());
}

#[test]
fn a_port_that_another_export_has_too_stays() {
    let (http, other) = (&["http 80/TCP"][..], &["http 8080/TCP"][..]);
    let found = resolved(&fleet(&[(Yields, http), (ByAge, other), (ByAge, http)]));
    assert_eq!(outcome(&found), (ports(http), "a", vec![("b", vec!["http"])]));
    assert!(found.yielding.is_empty());

    let both = &["http 80/TCP", "metrics 9090/TCP"][..];
    let others = &["http 8080/TCP", "metrics 9091/TCP"][..];
    let found = resolved(&fleet(&[(Yields, both), (ByAge, others), (ByAge, http)]));
    let union = ports(&["http 80/TCP", "metrics 9091/TCP"]);
    assert_eq!(outcome(&found), (union, "b", vec![("a", vec!["metrics"]), ("b", vec!["http"])]));
}

#[test]
fn nothing_yields_to_silence() {
    let (http, other) = (&["http 80/TCP"][..], &["http 8080/TCP"][..]);
    for precedence in [Yields, AsBefore] {
        let found = resolved(&fleet(&[(precedence, http), (Yields, other)]));
        assert_eq!(outcome(&found), (ports(http), "a", vec![("b", vec!["http"])]));
    }
    // What contradicts nothing stays as well.
    let found = resolved(&fleet(&[(Yields, http), (ByAge, &["web 8080/TCP"])]));
    assert_eq!(outcome(&found), (ports(&["http 80/TCP", "web 8080/TCP"]), "a", vec![]));
}

#[test]
fn what_is_not_certain_leaves_all_as_it_is() {
    let (http, other) = (&["http 80/TCP"][..], &["http 8080/TCP"][..]);
    let before = resolved(&fleet(&[(ByAge, http), (ByAge, other)]));
    let found = resolved_after(&fleet(&[(AsBefore, http), (ByAge, other)]), &before);
    assert_eq!(outcome(&found), outcome(&before));
    let yielded = resolved_after(&fleet(&[(Yields, http), (ByAge, other)]), &found);
    assert_eq!(outcome(&yielded).1, "b");
    let found = resolved_after(&fleet(&[(AsBefore, http), (ByAge, other)]), &yielded);
    assert_eq!(outcome(&found), outcome(&yielded));
    // A hub that has lost what was in force begins with age.
    assert_eq!(outcome(&resolved(&fleet(&[(AsBefore, http), (ByAge, other)]))).1, "a");
}

/// Ports yield, and not the type: a minute of silence would take the address away for good, or give one to a headless Service.
#[test]
fn a_type_of_which_all_holders_are_silent_stays() {
    let of = |type_, texts: &[&str]| ServiceProperties { type_, ..with_ports(texts) };
    let (set, headless) = (ServiceType::ClusterSetIP, ServiceType::Headless);
    for (type_, other) in [(headless, set), (set, headless)] {
        let exports = |precedence| {
            let silent = export("a", 1, of(type_, &["http 80/TCP"]));
            [Export { precedence, ..silent }, export("b", 2, of(other, &["http 8080/TCP"]))]
        };
        let before = resolved(&exports(ByAge));
        let kept = resolved_after(&exports(AsBefore), &before);
        let found = resolved_after(&exports(Yields), &kept);
        for found in [&before, &kept, &found, &resolved_after(&exports(ByAge), &found)] {
            assert_eq!((found.spec.properties.type_, &*found.spec.winner), (type_, "a"));
        }
        assert_eq!(found.spec.properties.ports, ports(&["http 8080/TCP"]), "ports yield");
        // Without any in force, it is that of an export which is not silent.
        let first = resolved(&exports(Yields)).spec;
        assert_eq!((first.properties.type_, &*first.winner), (other, "b"));
    }
}
