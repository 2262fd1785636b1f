//! What the charts render by default, word for word; and that both have the same shared templates.

use std::path::{Path, PathBuf};

use fleet_e2e::helm::chart;
use serde_json::{Value, json};

use crate::{CHARTS, both_helms, needed, with};

/// What the two charts have in common; each chart is to stand alone, so each has a copy.
const SHARED: [&str; 7] = [
    "_crds.tpl",
    "_helpers.tpl",
    "deployment.yaml",
    "monitoring.yaml",
    "networkpolicy.yaml",
    "poddisruptionbudget.yaml",
    "serviceaccount.yaml",
];

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

#[test]
fn the_charts_share_their_common_templates() {
    for file in SHARED {
        let [hub, member] = CHARTS
            .map(|name| std::fs::read_to_string(chart(name).join("templates").join(file)).unwrap());
        assert!(hub == member, "templates/{file} differs between the charts");
    }
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
