//! What releases are made of: packaged charts render what their folders do, and exceptions for advisories end. What becomes of
//! them: published, they verify. And the runs that they rest on, which take long.

#![allow(clippy::unwrap_used, reason = "clippy takes only #[test] functions for tests")]

mod published;
mod soak;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use fleet_image::chart::Chart;
use fleet_testbed::helm::{Helm, chart};
use serde_json::json;

/// Both charts reach `charts/common` through a symbolic link; a package has its content.
#[tokio::test]
async fn a_released_chart_renders_what_its_folder_does() {
    let values = json!({ "config": {
        "memberClusterName": "east", "hubURL": "https://hub.example:6443", "hubCA": "LS0tY2E=",
    } });
    for name in ["hub-agent", "member-agent"] {
        let released = Chart::pack(&chart(name)).unwrap();
        let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join(released.file_name());
        std::fs::write(&package, &released.package).unwrap();
        let values = if name == "hub-agent" { json!({}) } else { values.clone() };
        for helm in [Helm::v3().await.unwrap(), Helm::v4().await.unwrap()] {
            let place = ("fleet-system", name);
            let wanted = helm.template(&chart(name), place, &values).await.unwrap();
            assert!(!wanted.is_empty());
            assert_eq!(helm.template(&package, place, &values).await.unwrap(), wanted, "{name}");
            helm.lint(&package, &values).await.unwrap();
        }
    }
}

/// What `.ci/deny exceptions` prints of these lines on the last day of 2025.
fn exceptions(test: &str, lines: &str) -> Output {
    let file: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}.txt"));
    std::fs::write(&file, lines).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.ci/deny");
    Command::new(script)
        .arg("exceptions")
        .env("EXCEPTIONS", file)
        .env("TODAY", "2025-12-31")
        .output()
        .unwrap()
}

#[test]
fn an_exception_holds_until_its_day() {
    // Today, and 180 days from it.
    for day in ["2025-12-31", "2026-06-29"] {
        let lines = format!("# a comment\n\nRUSTSEC-2026-0001 {day} not reached\n");
        let output = exceptions("held", &lines);
        assert!(output.status.success(), "{output:?}");
        let printed = String::from_utf8(output.stdout).unwrap();
        let expected = format!("    {{ id = \"RUSTSEC-2026-0001\", reason = \"until {day}\" }},\n");
        assert_eq!(printed, expected);
    }
}

#[test]
fn an_exception_that_ended_or_has_no_end_fails() {
    for (test, line, words) in [
        ("ended", "RUSTSEC-2026-0001 2025-12-30 old", "ended on 2025-12-30"),
        ("far", "RUSTSEC-2026-0001 2026-06-30 x", "more than 180 days ahead"),
        ("unreal", "RUSTSEC-2026-0001 2026-02-30 x", "is no day"),
        ("endless", "RUSTSEC-2026-0001 never", "is not of the form"),
        ("bare", "RUSTSEC-2026-0001", "is not of the form"),
        ("unexplained", "RUSTSEC-2026-0001 2026-01-31", "is not of the form"),
        ("injected", "RUSTSEC-2026-0001\"} 2026-01-31 x", "is not of the form"),
    ] {
        // The last line of a file may have no end.
        let output = exceptions(test, line);
        assert!(!output.status.success(), "{line}");
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert!(complaint.contains(words), "{line}: {complaint}");
    }
}

#[test]
fn the_exceptions_of_this_project_are_well_formed() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/pinned/advisories");
    let text = std::fs::read_to_string(file).unwrap();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        let words: Vec<_> = line.split_whitespace().collect();
        assert!(words.len() > 2 && words[0].starts_with("RUSTSEC-"), "{line}");
        // That it has not ended is for the workflow: a test of this tree does not fail because time went by.
        assert!(words[1].parse::<jiff::civil::Date>().is_ok(), "{line}");
    }
}
