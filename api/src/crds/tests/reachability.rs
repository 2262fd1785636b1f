//! The definition of reachability: everything in it has a bound and a description.

use super::outline::outline;

#[test]
fn a_report_is_small() {
    let crds = crate::crds::reachability();
    let [crd] = &crds[..] else { unreachable!("one kind") };
    assert_eq!((&*crd.spec.names.kind, &*crd.spec.scope), ("ReachReport", "Namespaced"));
    let version = &crd.spec.versions[0];
    super::columns::check(crd, version);
    let root = version.schema.as_ref().unwrap().open_api_v3_schema.as_ref().unwrap();
    assert!(super::outline::without_description(root).is_empty());
    let counts = |path: &str| {
        ["notDialled", "reachable", "unknown", "unreachable"]
            .map(|count| format!("{path}{count} integer int32 0..2147483647 default 0"))
    };
    let [not, reachable, unknown, unreachable] = counts("spec.");
    let mut expected = vec!["spec! object".to_owned()];
    expected.push("spec.exporters array max 256 map(cluster)".to_owned());
    expected.push("spec.exporters[] object".to_owned());
    expected.push("spec.exporters[].cluster! string length ..63".to_owned());
    expected.extend(counts("spec.exporters[]."));
    expected.extend([
        "spec.names boolean default false".to_owned(),
        not,
        "spec.observed string date-time".to_owned(),
    ]);
    expected.push(reachable);
    expected.extend(
        [
            "spec.troubles array max 64 atomic",
            "spec.troubles[] object",
            "spec.troubles[].api! string Fleet|Standard",
            "spec.troubles[].detail! string length ..256",
            "spec.troubles[].exporter! string length ..63",
            "spec.troubles[].hop! string Name|Address|Route|Endpoint",
            "spec.troubles[].namespace! string length ..63",
            "spec.troubles[].service! string length ..63",
            "spec.troubles[].since! string date-time",
        ]
        .map(str::to_owned),
    );
    expected.extend([unknown, unreachable]);
    assert_eq!(outline(root), expected);
}
