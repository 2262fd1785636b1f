use std::fs;

use cargo_metadata::MetadataCommand;

use super::*;

/// What cargo knows of this workspace, and its lock file.
fn workspace() -> (Metadata, String) {
    // Only packages that the build has fetched are needed.
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let options = ["--locked", "--offline", "--filter-platform", &platform];
    let options = options.map(str::to_owned).to_vec();
    let metadata = MetadataCommand::new().other_options(options).exec().unwrap();
    let lock = fs::read_to_string(metadata.workspace_root.join("Cargo.lock")).unwrap();
    (metadata, lock)
}

fn parts() -> Vec<Part> {
    ["rust-std@1.2.3", "musl@1.2.5"].map(|it| Part::parse(it).unwrap()).to_vec()
}

fn subject<'a>(parts: &'a [Part], programs: &'a [&'a str]) -> Subject<'a> {
    Subject { name: "image", version: "1.2.3", programs, data: &["webpki-root-certs"], parts }
}

fn find<'a>(bill: &'a Value, name: &str) -> Option<&'a Value> {
    bill["components"].as_array().unwrap().iter().find(|component| component["name"] == name)
}

fn needs<'a>(bill: &'a Value, reference: &Value) -> &'a [Value] {
    let dependencies = bill["dependencies"].as_array().unwrap();
    let found = dependencies.iter().find(|one| one["ref"] == *reference).unwrap();
    found["dependsOn"].as_array().unwrap()
}

#[test]
fn the_bill_lists_what_is_linked_and_nothing_that_only_builds() {
    let (metadata, lock) = workspace();
    let parts = parts();
    let bill = of(&subject(&parts, &["hub-agent"]), &metadata, &lock).unwrap();
    let hub = find(&bill, "hub-agent").unwrap();
    assert_eq!(hub["type"], "application");
    assert_eq!(hub.get("hashes"), None);
    assert_eq!(find(&bill, "fleet-api").unwrap()["type"], "library");
    let kube = find(&bill, "kube").unwrap();
    let version = kube["version"].as_str().unwrap();
    assert_eq!(kube["purl"], format!("pkg:cargo/kube@{version}"));
    assert_eq!(kube["licenses"][0]["expression"], "Apache-2.0");
    let hash = kube["hashes"][0]["content"].as_str().unwrap();
    assert!(lock.contains(&format!("checksum = \"{hash}\"")));
    assert!(needs(&bill, &hub["bom-ref"]).contains(&kube["bom-ref"]));
    assert_eq!(find(&bill, "webpki-root-certs").unwrap()["type"], "data");
    assert_eq!(find(&bill, "musl").unwrap()["version"], "1.2.5");
    // Another program, tests, procedural macros and what they parse with, build scripts.
    for name in ["member-agent", "tower-test", "serde_derive", "syn", "proc-macro2", "cc"] {
        assert_eq!(find(&bill, name), None, "{name}");
    }
    let all = of(&subject(&parts, &["hub-agent"]), &metadata, &lock).unwrap();
    assert_eq!(bill, all, "the bill is reproducible");
    assert!(of(&subject(&parts, &["no-agent"]), &metadata, &lock).is_err());
    assert!(of(&subject(&parts, &["hub-agent"]), &metadata, "").is_err());
}

/// The rules of `CycloneDX` 1.6 for what is in these bills.
#[test]
fn the_bill_has_the_form_of_the_specification() {
    let (metadata, lock) = workspace();
    let parts = parts();
    let bill = of(&subject(&parts, &["hub-agent", "member-agent"]), &metadata, &lock).unwrap();
    let keys = |value: &Value| -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    };
    let names = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect::<BTreeSet<_>>();
    let top = [
        "bomFormat",
        "components",
        "dependencies",
        "metadata",
        "serialNumber",
        "specVersion",
        "version",
    ];
    assert_eq!(keys(&bill), names(&top));
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&json!("CycloneDX"), &json!("1.6")));
    assert!(bill["version"].as_u64().unwrap() >= 1);
    let serial = bill["serialNumber"].as_str().unwrap().strip_prefix("urn:uuid:").unwrap();
    let lengths: Vec<_> = serial.split('-').map(str::len).collect();
    assert_eq!(lengths, [8, 4, 4, 4, 12]);
    assert!(serial.chars().all(|it| it == '-' || matches!(it, '0'..='9' | 'a'..='f')));

    let root = &bill["metadata"]["component"];
    let components = bill["components"].as_array().unwrap();
    let mut references = BTreeSet::new();
    for component in components.iter().chain([root]) {
        let allowed = names(&["bom-ref", "hashes", "licenses", "name", "purl", "type", "version"]);
        assert!(keys(component).is_subset(&allowed), "{component}");
        let kind = component["type"].as_str().unwrap();
        assert!(["application", "container", "data", "library"].contains(&kind), "{kind}");
        for field in ["name", "version", "bom-ref"] {
            assert!(!component[field].as_str().unwrap().is_empty(), "{component}");
        }
        assert!(references.insert(component["bom-ref"].as_str()), "{component}: unique");
        for hash in component["hashes"].as_array().into_iter().flatten() {
            assert_eq!((hash["alg"].as_str(), keys(hash).len()), (Some("SHA-256"), 2));
            let content = hash["content"].as_str().unwrap();
            assert!(content.len() == 64 && content.bytes().all(|it| it.is_ascii_hexdigit()));
        }
        for license in component["licenses"].as_array().into_iter().flatten() {
            assert!(!license["expression"].as_str().unwrap().contains('/'), "{license}");
        }
    }
    let mut described = BTreeSet::new();
    for dependency in bill["dependencies"].as_array().unwrap() {
        assert_eq!(keys(dependency), names(&["dependsOn", "ref"]));
        assert!(references.contains(&dependency["ref"].as_str()), "{dependency}");
        assert!(described.insert(dependency["ref"].as_str()), "{dependency}: once");
        let uses = dependency["dependsOn"].as_array().unwrap();
        assert!(uses.iter().all(|it| references.contains(&it.as_str())), "{dependency}");
        assert_eq!(
            uses.iter().map(Value::as_str).collect::<BTreeSet<_>>().len(),
            uses.len(),
            "{dependency}"
        );
    }
    assert_eq!(described, references, "each component has its dependencies");

    // All is reached from the root.
    let mut open = vec![&root["bom-ref"]];
    let mut reached = BTreeSet::new();
    while let Some(next) = open.pop() {
        if reached.insert(next.as_str()) {
            open.extend(needs(&bill, next));
        }
    }
    assert_eq!(reached, references);
}

#[test]
fn parts_have_a_name_and_a_version() {
    for wrong in ["musl", "musl@", "@1", "a b@1", "a@1@2", "a/b@1"] {
        assert!(Part::parse(wrong).is_err(), "{wrong}");
    }
}
