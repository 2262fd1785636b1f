use std::collections::BTreeSet;
use std::process::{Command, Output};

use super::*;
use crate::signature::{Documents, Signatures};

/// Under which the workflow publishes, by the name of the repository that it runs in.
const REPOSITORY: &str = "ghcr.io/example/fleet";

/// Programs and a chart in a folder, which is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let top = std::env::temp_dir().join(format!("fleet-release-{test}-{}", std::process::id()));
        let write = |path: String, text: &str| {
            let path = top.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for architecture in ["amd64", "arm64"] {
            for program in PROGRAMS {
                write(format!("{architecture}/{program}"), &format!("{program} {architecture}"));
            }
        }
        write("chart/Chart.yaml".to_owned(), "name: web\nversion: 1.2.3\nappVersion: 1.2.3\n");
        let values = "image:\n  repository: localhost/fleet-networking/web\n";
        write("chart/values.yaml".to_owned(), values);
        Self(top)
    }

    fn sources(&self) -> Sources {
        let programs = ["amd64", "arm64"].map(|it| (it.to_owned(), self.0.join(it)));
        Sources {
            version: "1.2.3".to_owned(),
            licenses: "Apache-2.0".to_owned(),
            license: b"licence".to_vec(),
            repository: "registry.example/fleet".to_owned(),
            certificates: File {
                path: oci::CERTIFICATES.to_owned(),
                bytes: b"certificates".to_vec(),
                executable: false,
            },
            programs: programs.to_vec(),
            charts: vec![self.0.join("chart")],
            origin: Origin {
                revision: Some("0123".to_owned()),
                source: Some("https://source.example".to_owned()),
            },
            bills: PROGRAMS.map(|program| (program, program.as_bytes().to_vec())).into(),
            bill: b"{}".to_vec(),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// All files below a folder with their content.
fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, fs::read(path).unwrap());
            }
        }
    }
    found
}

#[test]
fn a_release_has_images_charts_the_cli_and_the_bill_and_the_same_bytes_each_time() {
    let folder = Folder::new("content");
    let sources = folder.sources();
    let written = ["first", "second"].map(|name| {
        let out = folder.0.join(name);
        Release::assemble(&sources).unwrap().write(&out).unwrap();
        content(&out)
    });
    assert_eq!(written[0], written[1]);
    let files: BTreeSet<_> =
        written[0].keys().filter(|it| !it.starts_with("oci/")).map(String::as_str).collect();
    let expected = [
        "LICENSE",
        "OCI-DIGESTS",
        "SHA256SUMS",
        "fleetctl-1.2.3-linux-amd64.tar.gz",
        "fleetctl-1.2.3-linux-arm64.tar.gz",
        "fleetctl-1.2.3.cdx.json",
        "hub-agent-1.2.3.cdx.json",
        "member-agent-1.2.3.cdx.json",
        "sbom.cdx.json",
        "web-1.2.3.tgz",
    ];
    assert_eq!(files, expected.into());
    let digests = String::from_utf8(written[0]["OCI-DIGESTS"].clone()).unwrap();
    let names: Vec<_> = digests.lines().map(|line| line.split_once("  ").unwrap().1).collect();
    let expected = [
        "charts/web:1.2.3",
        "cli:1.2.3",
        "cli:1.2.3-amd64",
        "cli:1.2.3-arm64",
        "fleetctl:1.2.3",
        "fleetctl:1.2.3-amd64",
        "fleetctl:1.2.3-arm64",
        "fleetctl:1.2.3-sbom",
        "hub-agent:1.2.3",
        "hub-agent:1.2.3-amd64",
        "hub-agent:1.2.3-arm64",
        "hub-agent:1.2.3-sbom",
        "member-agent:1.2.3",
        "member-agent:1.2.3-amd64",
        "member-agent:1.2.3-arm64",
        "member-agent:1.2.3-sbom",
    ];
    assert_eq!(names, expected);
    for line in digests.lines() {
        let (digest, name) = line.split_once("  ").unwrap();
        let repository = name.split_once(':').unwrap().0;
        let blob = &written[0][&format!("oci/{repository}/blobs/sha256/{digest}")];
        assert_eq!(sha256(blob), digest, "{name}");
    }
}

#[test]
fn a_bill_is_found_from_its_image() {
    let folder = Folder::new("bill");
    let release = Release::assemble(&folder.sources()).unwrap();
    let layout = &release.layouts["hub-agent"];
    let digest = &release.digests["hub-agent:1.2.3-sbom"];
    let (_, bill) = layout.blobs.iter().find(|(one, _)| one == digest).unwrap();
    let bill: Value = serde_json::from_slice(bill).unwrap();
    let image = format!("sha256:{}", release.digests["hub-agent:1.2.3"]);
    assert_eq!(bill["subject"]["digest"], image);
    assert_eq!(bill["artifactType"], BILL_TYPE);
}

#[test]
fn everything_in_a_registry_tells_where_it_is_from() {
    let folder = Folder::new("origin");
    let release = Release::assemble(&folder.sources()).unwrap();
    for (name, digest) in &release.digests {
        let layout = &release.layouts[name.split_once(':').unwrap().0];
        let (_, bytes) = layout.blobs.iter().find(|(one, _)| one == digest).unwrap();
        let manifest: Value = serde_json::from_slice(bytes).unwrap();
        let annotation =
            |it: &str| &manifest["annotations"][format!("org.opencontainers.image.{it}")];
        assert_eq!(annotation("revision"), "0123", "{name}");
        assert_eq!(annotation("source"), "https://source.example", "{name}");
    }
}

/// The release of a folder, unsigned, in another one.
fn written(folder: &Folder, name: &str) -> PathBuf {
    let out = folder.0.join(name);
    Release::assemble(&folder.sources()).unwrap().write(&out).unwrap();
    out
}

#[test]
fn everything_that_has_a_tag_is_signed() {
    let folder = Folder::new("signed");
    let mut key = crate::signature::tests::key().1;
    let out = written(&folder, "out");
    let before = content(&out);
    Signed::of(&out, "registry.example/fleet", &mut key).unwrap().write(&out).unwrap();
    let signed = content(&out);
    for (name, bytes) in before.iter().filter(|(name, _)| !name.ends_with("index.json")) {
        assert_eq!(&signed[name], bytes, "{name}: a signature changes nothing that it is about");
    }
    let digests = String::from_utf8(signed["OCI-DIGESTS"].clone()).unwrap();
    assert_eq!(digests.lines().count(), 16);
    for line in digests.lines() {
        let (digest, name) = line.split_once("  ").unwrap();
        let repository = name.split_once(':').unwrap().0;
        let layout = Layout::open(&out.join("oci").join(repository)).unwrap();
        let tag = format!("sha256-{digest}.sig");
        assert!(layout.listed().any(|(_, found)| found == Some(tag.as_str())), "{name}");
    }
    // cosign takes the first signature of a folder for that of the image in it.
    let layout = Layout::open(&out.join("oci/hub-agent")).unwrap();
    let tags: Vec<_> = layout.listed().filter_map(|(_, tag)| tag).collect();
    let first = tags.iter().find(|tag| tag.starts_with("sha256-")).unwrap();
    let index = digests.lines().find(|line| line.ends_with("  hub-agent:1.2.3")).unwrap();
    assert_eq!(*first, format!("sha256-{}.sig", &index[..64]));
    let error = Signed::of(&out, "registry.example/fleet", &mut key).unwrap_err();
    assert!(error.to_string().contains("is signed"), "{error}");
}

/// Where a release is signed apart from its build: `unsigned/release`, and `to-sign` with its documents. `None` without openssl.
fn to_sign(test: &str) -> Option<Folder> {
    if Command::new("openssl").arg("version").output().is_err() {
        eprintln!("SKIPPED: openssl is not installed");
        return None;
    }
    let folder = Folder::new(test);
    fs::create_dir(folder.0.join("unsigned")).unwrap();
    let out = written(&folder, "unsigned/release");
    let mut documents = Documents::default();
    Signed::of(&out, REPOSITORY, &mut documents).unwrap();
    documents.write(&folder.0.join("to-sign")).unwrap();
    Some(folder)
}

/// Runs the step of the workflow that signs, as GitHub does.
fn sign_by_workflow(folder: &Folder, key: &str) -> Output {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.github/workflows/release.yaml");
    let workflow: Value = serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let steps = workflow["jobs"]["sign"]["steps"].as_array().unwrap();
    let step = steps.iter().find(|step| step["name"] == "sign").unwrap();
    Command::new("bash")
        .args(["-e", "-c", step["run"].as_str().unwrap()])
        .current_dir(&folder.0)
        .env("GITHUB_REPOSITORY", "Example/Fleet")
        .env("RUNNER_TEMP", &folder.0)
        .env("RELEASE_KEY", key)
        .output()
        .unwrap()
}

/// `cosign verify-blob` takes the same.
#[test]
fn openssl_signs_the_documents_and_verifies_the_checksums() {
    let Some(folder) = to_sign("openssl") else { return };
    let signed = sign_by_workflow(&folder, &crate::signature::tests::key().0);
    assert!(signed.status.success(), "{signed:?}");
    assert!(!folder.0.join("key").exists());
    let place = folder.0.join("signatures");
    let mut signatures = Signatures::open(&place).unwrap();
    let out = folder.0.join("unsigned/release");
    Signed::of(&out, REPOSITORY, &mut signatures).unwrap().write(&out).unwrap();
    let signature = fs::read_to_string(out.join("SHA256SUMS.sig")).unwrap();
    let signature =
        base64::Engine::decode(&base64::engine::general_purpose::STANDARD, signature.trim_end());
    let der = folder.0.join("der");
    fs::write(&der, signature.unwrap()).unwrap();
    let verified = Command::new("openssl")
        .args(["dgst", "-sha256", "-verify"])
        .arg(out.join(PUBLIC_KEY))
        .arg("-signature")
        .args([der, out.join("SHA256SUMS")])
        .output()
        .unwrap();
    assert!(verified.status.success(), "{verified:?}");

    // By another key.
    let other = crate::signature::tests::key().1;
    let out = written(&folder, "other");
    fs::write(place.join(PUBLIC_KEY), other.public()).unwrap();
    let mut signatures = Signatures::open(&place).unwrap();
    let error = Signed::of(&out, REPOSITORY, &mut signatures).unwrap_err();
    assert!(error.to_string().contains("is not by the key"), "{error}");
}

/// The job that builds is not trusted with the key: what it asks to have signed is about its own release, and nothing else.
#[test]
fn the_workflow_signs_nothing_of_another_release() {
    let Some(folder) = to_sign("foreign") else { return };
    let documents = content(&folder.0.join("to-sign"));
    let mut documents = documents.values().map(|it| str::from_utf8(it).unwrap());
    let known = documents.find(|it| it.contains("fleet/cli\"")).unwrap();
    let digest = known.split("sha256:").nth(1).unwrap().split('"').next().unwrap();
    // The list of digests is from that job, too.
    let injected = r#"x"}},"optional":{"y":{"z":""#;
    let list = folder.0.join("unsigned/release").join(DIGESTS);
    let lines = fs::read_to_string(&list).unwrap();
    fs::write(&list, format!("{digest}  {injected}:1\n{lines}")).unwrap();

    let other_digest = known.replace(digest, &"0".repeat(64));
    for foreign in [
        "anything",
        "",
        &known.replace("example/fleet", "other/fleet"),
        &other_digest,
        // One reads the first of two values, another one the last; and some read keys whatever their case.
        &format!("{other_digest}{known}"),
        &known.replace("{\"critical", "{\"Critical\":{},\"critical"),
        &known.replace("fleet/cli", &format!("fleet/{injected}")),
    ] {
        let name = sha256(foreign.as_bytes());
        refused(&folder, (&name, foreign), "is not about this release");
    }
    refused(&folder, (&"0".repeat(64), known), "did NOT match");
}

/// The workflow signs no such document.
fn refused(folder: &Folder, (name, document): (&str, &str), reason: &str) {
    let place = folder.0.join("to-sign").join(name);
    fs::write(&place, document).unwrap();
    let refused = sign_by_workflow(folder, &crate::signature::tests::key().0);
    assert!(!refused.status.success(), "{document}");
    let complaint = String::from_utf8(refused.stderr).unwrap();
    assert!(complaint.contains(reason), "{document}: {complaint}");
    let signatures = folder.0.join("signatures");
    assert!(!signatures.join(format!("{name}.sig")).exists(), "{document}");
    fs::remove_dir_all(signatures).unwrap();
    fs::remove_file(place).unwrap();
}

#[test]
fn what_is_not_as_its_lists_have_it_is_not_signed() {
    let folder = Folder::new("changed");
    for (at, path) in ["web-1.2.3.tgz", "OCI-DIGESTS", "oci"].into_iter().enumerate() {
        let out = written(&folder, &format!("out{at}"));
        if path == "oci" {
            let index = out.join("oci/cli/index.json");
            let text = fs::read_to_string(&index).unwrap().replace("1.2.3", "1.2.4");
            fs::write(index, text).unwrap();
        } else {
            fs::write(out.join(path), "changed").unwrap();
        }
        let mut key = crate::signature::tests::key().1;
        Signed::of(&out, "registry.example/fleet", &mut key).unwrap_err();
    }
}

#[test]
fn a_missing_program_is_an_error() {
    let folder = Folder::new("missing");
    fs::remove_file(folder.0.join("arm64/fleetctl")).unwrap();
    let error = Release::assemble(&folder.sources()).unwrap_err();
    assert!(format!("{error:#}").contains("arm64/fleetctl"), "{error:#}");
}
