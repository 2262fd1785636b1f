//! The two programs, each asked through pipes.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use fleet_testbed::binaries;
use fleet_testbed::go_module::SLICE_ORACLE;

/// Random scenarios; a seed always gives the same.
pub(crate) fn generate(count: usize, seed: u64) -> Vec<Value> {
    let arguments = ["-gen", &count.to_string(), "-seed", &seed.to_string()];
    run(oracle(), &arguments, &[])
}

fn oracle() -> PathBuf {
    binaries::own(&SLICE_ORACLE).unwrap()
}

/// What the original answers.
pub(crate) fn ask_oracle(arguments: &[&str], scenarios: &[Value]) -> Vec<Value> {
    answers(oracle(), arguments, scenarios)
}

/// What ours answers.
pub(crate) fn ask_ours(arguments: &[&str], scenarios: &[Value]) -> Vec<Value> {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().unwrap().with_file_name("examples").join("reconcile-jsonl");
    assert!(
        program.is_file(),
        "{} is missing; `cargo build --workspace --examples` makes it",
        program.display()
    );
    answers(program, arguments, scenarios)
}

fn answers(program: PathBuf, arguments: &[&str], scenarios: &[Value]) -> Vec<Value> {
    let answers = run(program, arguments, scenarios);
    assert_eq!(answers.len(), scenarios.len());
    for (answer, scenario) in answers.iter().zip(scenarios) {
        assert!(answer["fault"].is_null(), "{answer}\n{scenario}");
        assert_eq!(answer["id"], scenario["id"]);
    }
    answers
}

fn run(program: PathBuf, arguments: &[&str], lines: &[Value]) -> Vec<Value> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines: Vec<String> =
        lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect();
    // Both ends at once: either pipe may fill up.
    let output = std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(lines.concat().as_bytes()).unwrap());
        child.wait_with_output().unwrap()
    });
    assert!(output.status.success(), "{}", output.status);
    let output = String::from_utf8(output.stdout).unwrap();
    output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
