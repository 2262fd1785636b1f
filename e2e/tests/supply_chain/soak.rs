//! Long tests go on where they were stopped, on the same code.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Notes its arguments, and fails the tests that a file names.
const CARGO: &str = r#"#!/usr/bin/env bash
here=$(dirname "$0")
echo "$*" >>"$here/calls"
if [[ "$*" == *"--test $(cat "$here/failing")"* ]]; then exit 101; fi
echo 'test result: ok. 2 passed; 0 failed'
"#;
const PAGE: &str = "| target | commit | date | minutes | steps |\n|---|---|---|---|---|\n";

/// A repository with the script, and a cargo that builds nothing, in a folder that goes with the value.
struct Stage(PathBuf);

impl Stage {
    fn new() -> Self {
        let stage = Self(std::env::temp_dir().join(format!("fleet-soak-{}", std::process::id())));
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.ci");
        for folder in ["repository/.ci", "repository/docs"] {
            fs::create_dir_all(stage.0.join(folder)).unwrap();
        }
        for script in ["soak", "need"] {
            fs::copy(scripts.join(script), stage.0.join("repository/.ci").join(script)).unwrap();
        }
        stage.write("repository/docs/soak.md", PAGE);
        stage.write("cargo", CARGO);
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(stage.0.join("cargo"), executable).unwrap();
        stage.git(&["init", "--quiet"]);
        stage.commit();
        stage
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.0.join(path), text).unwrap();
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
            .args(arguments)
            .current_dir(self.0.join("repository"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn commit(&self) {
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "--message", "a"]);
    }

    /// Runs `soak-fuzz` where the tests of this name fail; how it ended, and which tests were run.
    fn fuzz(&self, failing: &str) -> (Output, Vec<&'static str>) {
        self.write("failing", failing);
        self.write("calls", "");
        let output = Command::new("bash")
            .args([".ci/soak", "fuzz"])
            .current_dir(self.0.join("repository"))
            .env("CARGO", self.0.join("cargo"))
            .env("CARGO_TARGET_DIR", self.0.join("target"))
            .env_remove("AGAIN")
            .env_remove("STEPS")
            .output()
            .unwrap();
        let calls = fs::read_to_string(self.0.join("calls")).unwrap();
        let all = ["endpointslice_churn", "fuzz"];
        let run = all.into_iter().filter(|test| calls.contains(&format!("--test {test}")));
        (output, run.collect())
    }

    /// The row of the page, by the commit that it names.
    fn row(&self) -> Option<String> {
        let page = fs::read_to_string(self.0.join("repository/docs/soak.md")).unwrap();
        let row = page.lines().find(|line| line.starts_with("| `soak-fuzz` |"))?;
        Some(row.split(" | ").nth(1)?.to_owned())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

#[test]
fn a_step_is_done_once_on_the_same_code() {
    let stage = Stage::new();
    let commit = stage.git(&["rev-parse", "--short=7", "HEAD"]);
    let (stopped, run) = stage.fuzz("fuzz");
    assert!(!stopped.status.success() && stage.row().is_none(), "{stopped:?}");
    assert_eq!(run, ["endpointslice_churn", "fuzz"]);

    // Pages are written meanwhile.
    stage.write("repository/docs/other.md", "a page");
    stage.commit();
    let (whole, run) = stage.fuzz("none");
    assert!(whole.status.success(), "{whole:?}");
    assert_eq!(run, ["fuzz"]);
    assert_eq!(stage.row(), Some(commit.clone()));
    let (_, run) = stage.fuzz("none");
    assert!(run.is_empty(), "{run:?}");

    stage.write("repository/code", "other code");
    let (_, run) = stage.fuzz("none");
    assert_eq!(run.len(), 2);
    let named = stage.row().unwrap();
    assert!(named.starts_with(&format!("{commit}+")), "{named}");
}
