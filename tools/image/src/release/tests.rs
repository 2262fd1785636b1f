use std::collections::BTreeSet;

use super::*;

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
        write("chart/Chart.yaml".to_owned(), "name: web\nversion: 1.2.3\n");
        Self(top)
    }

    fn sources(&self) -> Sources {
        let programs = ["amd64", "arm64"].map(|it| (it.to_owned(), self.0.join(it)));
        Sources {
            version: "1.2.3".to_owned(),
            licenses: "Apache-2.0".to_owned(),
            license: b"licence".to_vec(),
            repository: "example/fleet".to_owned(),
            certificates: File {
                path: oci::CERTIFICATES.to_owned(),
                bytes: b"certificates".to_vec(),
                executable: false,
            },
            programs: programs.to_vec(),
            charts: vec![self.0.join("chart")],
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
        Release::assemble(&sources, None).unwrap().write(&out).unwrap();
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
        "sbom.cdx.json",
        "web-1.2.3.tgz",
    ];
    assert_eq!(files, expected.into());
    let digests = String::from_utf8(written[0]["OCI-DIGESTS"].clone()).unwrap();
    let names: Vec<_> = digests.lines().map(|line| line.split_once("  ").unwrap().1).collect();
    let expected = [
        "charts/web:1.2.3",
        "cli:1.2.3",
        "fleetctl:1.2.3",
        "fleetctl:1.2.3-sbom",
        "hub-agent:1.2.3",
        "hub-agent:1.2.3-sbom",
        "member-agent:1.2.3",
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
    let release = Release::assemble(&folder.sources(), None).unwrap();
    let layout = &release.layouts["hub-agent"];
    let digest = &release.digests["hub-agent:1.2.3-sbom"];
    let (_, bill) = layout.blobs.iter().find(|(one, _)| one == digest).unwrap();
    let bill: Value = serde_json::from_slice(bill).unwrap();
    let image = format!("sha256:{}", release.digests["hub-agent:1.2.3"]);
    assert_eq!(bill["subject"]["digest"], image);
    assert_eq!(bill["artifactType"], BILL_TYPE);
}

#[test]
fn everything_that_has_a_tag_is_signed() {
    let folder = Folder::new("signed");
    let key = crate::signature::tests::key().1;
    let release = Release::assemble(&folder.sources(), Some(&key)).unwrap();
    let unsigned = Release::assemble(&folder.sources(), None).unwrap();
    assert_eq!(release.digests, unsigned.digests, "a signature changes nothing that it is about");
    let out = folder.0.join("out");
    release.write(&out).unwrap();
    for (name, digest) in &release.digests {
        let repository = name.split_once(':').unwrap().0;
        let index = fs::read(out.join(format!("oci/{repository}/index.json"))).unwrap();
        let index: Value = serde_json::from_slice(&index).unwrap();
        let tags = index["manifests"].as_array().unwrap().iter();
        let mut tags =
            tags.map(|it| it["annotations"]["org.opencontainers.image.ref.name"].clone());
        assert!(tags.any(|tag| tag == format!("sha256-{digest}.sig")), "{name}");
    }
    assert!(out.join("cosign.pub").is_file());
}

#[test]
fn a_missing_program_is_an_error() {
    let folder = Folder::new("missing");
    fs::remove_file(folder.0.join("arm64/fleetctl")).unwrap();
    let error = Release::assemble(&folder.sources(), None).unwrap_err();
    assert!(format!("{error:#}").contains("arm64/fleetctl"), "{error:#}");
}
