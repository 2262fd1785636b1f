//! Definitions of the standard API: whether they are served, and of which release they are.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::doctor::finding::{Finding, Outcome, known};
use crate::doctor::list::list;
use crate::doctor::seen::Definition;
use crate::doctor::subject::Subject;

/// The definitions that the chart of the member agent installs.
const OURS: [&str; 2] = [
    include_str!(
        "../../../../charts/member-agent/files/multicluster-crds/multicluster.x-k8s.io_serviceexports.yaml"
    ),
    include_str!(
        "../../../../charts/member-agent/files/multicluster-crds/multicluster.x-k8s.io_serviceimports.yaml"
    ),
];
/// The label with the release of a definition.
const RELEASE: &str = "multicluster.x-k8s.io/release-version";
/// The label with its revision in that release.
const REVISION: &str = "multicluster.x-k8s.io/crd-schema-revision";

const IMPORT: &str = "ServiceImport";
const EXPORT: &str = "ServiceExport";
const PROPERTY: &str = "ClusterProperty";
const INSTALL: &str = "install the definitions: value crds.multicluster=true of the chart member-agent. If another chart has \
                       installed them, upgrade that one, or take them over with crds.adopt=true";
const INSTALL_ABOUT: &str =
    "install the definition: value crds.about=true of the chart member-agent";

/// A release and a revision in it, in their order.
type Version = ([u64; 3], bool, u64);

/// Whether the versions are served that agents and CoreDNS read.
pub(super) fn served(member: &Subject<'_>) -> Outcome {
    let served = known(&member.own.served)?;
    let lacks = |kinds: &BTreeSet<String>, kind: &str| !kinds.contains(kind);
    let install = || member.helm(&["crds.multicluster=true"]);
    let mut findings = Vec::new();
    let both = [EXPORT, IMPORT].into_iter();
    let missing: Vec<_> = both.filter(|kind| lacks(&served.v1beta1, kind)).collect();
    if !missing.is_empty() {
        let kinds = missing.join(" and ");
        let what = format!(
            "the cluster does not serve {kinds} of multicluster.x-k8s.io/v1beta1: the member agent neither exports nor imports \
             through the standard API"
        );
        findings.push(Finding::failure(what, INSTALL).mend_with(install()));
    }
    if lacks(&served.v1alpha1, IMPORT) {
        let what = "the cluster does not serve ServiceImport of multicluster.x-k8s.io/v1alpha1, which CoreDNS reads: with \
                    multicluster in its Corefile it never becomes ready";
        findings.push(Finding::failure(what, INSTALL).mend_with(install()));
    }
    if lacks(&served.about, PROPERTY) {
        let what = "the cluster does not serve ClusterProperty of about.k8s.io/v1beta1: programs in it cannot read the names of \
                    the cluster and of its clusterset";
        let command = member.helm(&["crds.about=true"]);
        findings.push(Finding::warning(what, INSTALL_ABOUT).mend_with(command));
    }
    Ok(findings)
}

/// Whether the definitions are of the release of this program.
pub(super) fn release(member: &Subject<'_>) -> Outcome {
    let present = known(&member.own.definitions)?;
    let Some(ours) = ours() else { return Ok(Vec::new()) };
    Ok(present.iter().filter_map(|definition| compared(definition, &ours)).collect())
}

fn compared(present: &Definition, ours: &Definition) -> Option<Finding> {
    let name = &present.name;
    let (Some(found), Some(own)) = (version(present), version(ours)) else {
        let what = format!("the definition {name} does not name the release that it is from");
        return Some(Finding::warning(what, INSTALL));
    };
    let title = |definition: &Definition| {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        format!("{} (revision {})", text(&definition.release), text(&definition.revision))
    };
    let (there, here) = (title(present), title(ours));
    match found.cmp(&own) {
        std::cmp::Ordering::Less => Some(Finding::warning(
            format!(
                "the definition {name} is of {there}, older than {here} of this release: fields may be missing"
            ),
            INSTALL,
        )),
        std::cmp::Ordering::Greater => Some(Finding::information(
            format!("the definition {name} is of {there}, newer than {here} of this release"),
            "the agents leave fields alone that they do not know; the charts replace no newer definition",
        )),
        std::cmp::Ordering::Equal => None,
    }
}

/// The release and revision of this program's definitions.
fn ours() -> Option<Definition> {
    OURS.iter()
        .filter_map(|text| serde_saphyr::from_str::<Value>(text).ok())
        .map(|it| of(&it))
        .next()
}

/// What checks look at in a definition.
pub(in crate::doctor) fn of(object: &Value) -> Definition {
    let label = |key: &str| object["metadata"]["labels"][key].as_str().map(str::to_owned);
    let spec = &object["spec"];
    let is_import = spec["names"]["kind"] == IMPORT;
    let versions = spec["versions"].as_array().into_iter().flatten();
    let mut beta = versions.filter(|version| version["name"] == "v1beta1");
    let status = |version: &Value| {
        let schema = &version["schema"]["openAPIV3Schema"]["properties"]["status"];
        schema["properties"]["endpointSliceObjects"].is_object()
            || schema["x-kubernetes-preserve-unknown-fields"] == Value::Bool(true)
    };
    Definition {
        name: object["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
        release: label(RELEASE),
        revision: label(REVISION),
        has_slice_objects: !is_import || beta.any(status),
    }
}

/// A release such as `v0.5.2`, of which a pre-release is older. Without a revision it is the first.
fn version(definition: &Definition) -> Option<Version> {
    let release = definition.release.as_deref()?.trim_start_matches('v');
    let release = release.split_once('+').map_or(release, |(release, _)| release);
    let (numbers, pre) = match release.split_once('-') {
        Some((numbers, _)) => (numbers, true),
        None => (release, false),
    };
    let numbers: Vec<u64> =
        numbers.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let revision = definition.revision.as_deref().unwrap_or("0").parse().ok()?;
    Some((numbers.try_into().ok()?, !pre, revision))
}

/// Whether the status of ServiceImports can state that the endpoints are in the cluster.
pub(super) fn slice_objects(member: &Subject<'_>) -> Outcome {
    let without = known(&member.own.definitions)?.iter().filter(|it| !it.has_slice_objects);
    let without: Vec<_> = without.map(|definition| &definition.name).collect();
    if without.is_empty() {
        return Ok(Vec::new());
    }
    let what = format!(
        "the definition {} has no status.endpointSliceObjects: programs cannot read there that the endpoints of imports are \
         EndpointSlices of this cluster",
        list(without)
    );
    Ok(vec![Finding::warning(what, INSTALL)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::testing::{levels, sound, unread};

    fn older(release: &str, revision: Option<&str>) -> Definition {
        Definition {
            name: "serviceimports.multicluster.x-k8s.io".to_owned(),
            release: Some(release.to_owned()),
            revision: revision.map(str::to_owned),
            has_slice_objects: true,
        }
    }

    #[test]
    fn all_versions_have_to_be_served() {
        let mut world = sound();
        assert_eq!(world.examine(served), []);
        world.own().served.as_mut().unwrap().v1alpha1.clear();
        let found = world.examine(served);
        assert_eq!(levels(&found), ["failure"]);
        assert!(found[0].what.contains("which CoreDNS reads"), "{found:?}");
        world.own().served = Ok(crate::doctor::seen::Served::default());
        let found = world.examine(served);
        assert_eq!(levels(&found), ["failure", "failure", "warning"]);
        assert!(found[0].what.contains("ServiceExport and ServiceImport"), "{found:?}");
    }

    #[test]
    fn only_the_missing_kind_is_named() {
        let mut world = sound();
        world.own().served.as_mut().unwrap().v1beta1.remove(EXPORT);
        let found = world.examine(served);
        assert!(found[0].what.contains("serve ServiceExport of"), "{found:?}");
    }

    #[test]
    fn our_own_definitions_are_of_a_release() {
        let ours = ours().unwrap();
        assert!(version(&ours).is_some_and(|(numbers, ..)| numbers >= [0, 5, 2]), "{ours:?}");
        for text in OURS {
            let definition = of(&serde_saphyr::from_str(text).unwrap());
            assert!(definition.has_slice_objects, "{definition:?}");
            assert_eq!(version(&definition), version(&ours), "both are of one release");
            assert_eq!(compared(&definition, &ours), None);
        }
    }

    #[test]
    fn releases_have_an_order() {
        let ours = older("v0.5.2", Some("1"));
        let level = |release: &str, revision: Option<&str>| {
            let found = compared(&older(release, revision), &ours)?;
            Some(found.level.to_string())
        };
        assert_eq!(level("v0.5.2", Some("1")), None);
        assert_eq!(level("0.5.2+build", Some("1")), None);
        for older in [("v0.5.1", "7"), ("v0.5.2", "0"), ("v0.5.2-rc1", "9"), ("v0.4.99", "1")] {
            assert_eq!(level(older.0, Some(older.1)).as_deref(), Some("warning"), "{older:?}");
        }
        for newer in [("v0.5.3", "0"), ("v0.5.2", "2"), ("v1.0.0", "0"), ("v0.5.10", "0")] {
            assert_eq!(level(newer.0, Some(newer.1)).as_deref(), Some("information"), "{newer:?}");
        }
        assert_eq!(level("v0.5.2", None).as_deref(), Some("warning"));
        for unknown in ["", "latest", "v1", "1.2.3.4", "v-1.2.3"] {
            let found = compared(&older(unknown, Some("0")), &ours).unwrap();
            assert!(found.what.contains("does not name the release"), "{unknown}: {found:?}");
        }
        let found = compared(&Definition::default(), &ours).unwrap();
        assert!(found.what.contains("does not name the release"), "{found:?}");
    }

    #[test]
    fn a_definition_without_the_field_is_a_warning() {
        let mut world = sound();
        assert_eq!(world.examine(slice_objects), []);
        world.own().definitions.as_mut().unwrap()[1].has_slice_objects = false;
        let found = world.examine(slice_objects);
        assert_eq!(levels(&found), ["warning"]);
        assert!(found[0].what.contains("serviceimports.multicluster.x-k8s.io"), "{found:?}");
    }

    #[test]
    fn a_schema_that_keeps_everything_has_the_field() {
        let any = serde_json::json!({ "spec": { "names": { "kind": IMPORT }, "versions": [
            { "name": "v1beta1", "schema": { "openAPIV3Schema": { "properties": { "status":
                { "x-kubernetes-preserve-unknown-fields": true } } } } },
        ]}});
        assert!(of(&any).has_slice_objects);
        let none = serde_json::json!({ "spec": { "names": { "kind": IMPORT } } });
        assert!(!of(&none).has_slice_objects);
    }

    #[test]
    fn what_may_not_be_read_is_not_checked() {
        let mut world = sound();
        world.own().definitions = Err(unread());
        world.own().served = Err(unread());
        for check in [served, release, slice_objects] {
            assert_eq!(world.try_examine(check), Err(unread()));
        }
    }
}
