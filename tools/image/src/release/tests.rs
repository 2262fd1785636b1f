use std::collections::BTreeSet;

use super::*;
use crate::signature::{Documents, Signatures};

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

/// `cosign verify-blob` takes the same.
#[test]
fn openssl_signs_the_documents_and_verifies_the_checksums() {
    let folder = Folder::new("openssl");
    let (key, text) = (folder.0.join("key"), crate::signature::tests::key().0);
    fs::write(&key, text).unwrap();
    let openssl = |arguments: &[&dyn AsRef<std::ffi::OsStr>]| {
        std::process::Command::new("openssl").args(arguments).output()
    };
    let Ok(version) = openssl(&[&"version"]) else {
        eprintln!("SKIPPED: openssl is not installed");
        return;
    };
    assert!(version.status.success());
    let out = written(&folder, "out");
    let mut documents = Documents::default();
    Signed::of(&out, "registry.example/fleet", &mut documents).unwrap();
    let places = ["documents", "signatures"].map(|name| folder.0.join(name));
    documents.write(&places[0]).unwrap();
    fs::create_dir(&places[1]).unwrap();
    let public = places[1].join(PUBLIC_KEY);
    let made = openssl(&[&"pkey", &"-in", &key, &"-pubout", &"-out", &public]).unwrap();
    assert!(made.status.success(), "{made:?}");
    for entry in fs::read_dir(&places[0]).unwrap() {
        let document = entry.unwrap().path();
        let name = document.file_name().unwrap().to_str().unwrap();
        let signature = places[1].join(format!("{name}.sig"));
        let arguments: [&dyn AsRef<_>; 7] =
            [&"dgst", &"-sha256", &"-sign", &key, &"-out", &signature, &document];
        assert!(openssl(&arguments).unwrap().status.success());
    }
    let mut signatures = Signatures::open(&places[1]).unwrap();
    Signed::of(&out, "registry.example/fleet", &mut signatures).unwrap().write(&out).unwrap();
    let signature = fs::read_to_string(out.join("SHA256SUMS.sig")).unwrap();
    let signature =
        base64::Engine::decode(&base64::engine::general_purpose::STANDARD, signature.trim_end());
    let der = folder.0.join("der");
    fs::write(&der, signature.unwrap()).unwrap();
    let (public, list) = (out.join(PUBLIC_KEY), out.join("SHA256SUMS"));
    let arguments: [&dyn AsRef<_>; 7] =
        [&"dgst", &"-sha256", &"-verify", &public, &"-signature", &der, &list];
    let verified = openssl(&arguments).unwrap();
    assert!(verified.status.success(), "{verified:?}");

    // By another key.
    let other = crate::signature::tests::key().1;
    let out = written(&folder, "other");
    fs::write(places[1].join(PUBLIC_KEY), other.public()).unwrap();
    let mut signatures = Signatures::open(&places[1]).unwrap();
    let error = Signed::of(&out, "registry.example/fleet", &mut signatures).unwrap_err();
    assert!(error.to_string().contains("is not by the key"), "{error}");
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
