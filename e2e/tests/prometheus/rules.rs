//! The alert rules by themselves.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{AGENTS, alerts, program};

/// What `promtool` plays through for an agent.
fn scenarios(agent: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/prometheus/rules");
    folder.join(format!("{agent}.yaml"))
}

fn promtool(arguments: [&str; 2], files: [PathBuf; 2]) {
    let Some(promtool) = program("promtool") else { return };
    let output = Command::new(promtool).args(arguments).args(files).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&text));
}

#[test]
fn promtool_takes_the_rules() {
    promtool(["check", "rules"], AGENTS.map(alerts));
}

#[test]
fn each_alert_fires_when_it_should_and_only_then() {
    promtool(["test", "rules"], AGENTS.map(scenarios));
}

/// Needs no `promtool`: no alert is added without being played through.
#[test]
fn each_alert_has_a_scenario() {
    for agent in AGENTS {
        let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
        let rules: Value = serde_saphyr::from_str(&read(alerts(agent))).unwrap();
        let rules = rules["groups"][0]["rules"].as_array().unwrap().clone();
        let there: BTreeSet<_> =
            rules.iter().map(|rule| rule["alert"].as_str().unwrap().to_owned()).collect();
        let scenarios = read(scenarios(agent));
        let fires = scenarios.split("alertname=\"").skip(1);
        let fires = fires.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect();
        assert_eq!(there, fires, "{agent}");
        assert!(scenarios.contains("exp_samples: []"));
    }
}
