//! What the charts render by default, word for word; and that what they share is in `charts/common`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fleet_testbed::helm::chart;
use serde_json::{Value, json};

use crate::{CHARTS, both_helms, needed, with};

/// `WRITE_GOLDEN=1 cargo test -p fleet-e2e --test charts golden` writes the files.
#[tokio::test]
async fn the_charts_render_what_they_did() {
    let [helm3, helm4] = both_helms().await;
    for name in CHARTS {
        // Definitions are generated, policies have tests of their own; both are long.
        let mut values = with(needed(name), &json!({ "crds": { "install": false } }));
        if name == "hub-agent" {
            values = with(values, &json!({ "policies": { "enabled": false } }));
        }
        let place = ("fleet-system", name);
        let text = helm4.template_text(&chart(name), place, &values, &[]).await.unwrap();
        let file = golden(name);
        if std::env::var_os("WRITE_GOLDEN").is_some() {
            std::fs::write(&file, &text).unwrap();
        }
        let wanted = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text, wanted, "{} is stale; WRITE_GOLDEN=1 writes it", file.display());

        let old = helm3.template(&chart(name), place, &values).await.unwrap();
        let new = helm4.template(&chart(name), place, &values).await.unwrap();
        assert_eq!(sorted(old), sorted(new), "{name}: Helm 3 and 4");
    }
}

#[tokio::test]
async fn the_charts_pass_lint() {
    for helm in both_helms().await {
        for name in CHARTS {
            helm.lint(&chart(name), &needed(name)).await.unwrap();
        }
    }
}

/// Both charts reach `charts/common` through a symbolic link; a package has its content.
#[tokio::test]
async fn a_package_renders_what_its_folder_does() {
    for helm in both_helms().await {
        for name in CHARTS {
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
            let package = helm.package(&chart(name), folder).await.unwrap();
            let (place, values) = (("fleet-system", name), needed(name));
            let wanted = helm.template(&chart(name), place, &values).await.unwrap();
            assert_eq!(helm.template(&package, place, &values).await.unwrap(), wanted, "{name}");
        }
    }
}

/// A file of up to three lines includes a template of `charts/common`; what is longer and the same belongs there.
#[test]
fn the_charts_repeat_no_template() {
    let [hub, member] = CHARTS.map(templates);
    for (name, text) in &hub {
        let repeated = text.lines().count() > 3 && member.get(name) == Some(text);
        assert!(
            !repeated,
            "templates/{} is the same in both charts: move it to charts/common",
            name.display()
        );
    }
}

/// Text of every file in a chart's `templates/`, by its path there.
fn templates(name: &str) -> BTreeMap<PathBuf, String> {
    let root = chart(name).join("templates");
    let mut texts = BTreeMap::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = std::fs::read_to_string(&path).unwrap();
                texts.insert(path.strip_prefix(&root).unwrap().to_owned(), text);
            }
        }
    }
    texts
}

fn golden(chart: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/charts/golden/{chart}.yaml"))
}

fn sorted(mut objects: Vec<Value>) -> Vec<Value> {
    objects.sort_by_key(|object| {
        let metadata = &object["metadata"];
        [&object["kind"], &metadata["namespace"], &metadata["name"]].map(ToString::to_string)
    });
    objects
}
