//! The program `hub-agent` as its users start it, without a cluster.

use std::net::TcpListener;
use std::process::{Command, Output};

use clap::CommandFactory;
use hub_agent::args::Args;

/// Runs the program in an environment that names no cluster.
fn hub_agent(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hub-agent"));
    command.args(arguments).env_clear().output().expect("the program starts")
}

/// Its errors, without the log.
fn complaint(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    errors.lines().filter(|line| !line.starts_with('{')).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_taken_port_is_one_line_that_names_the_flag() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (flag, other) in [
        ("--metrics-bind-address", "--health-probe-bind-address"),
        ("--health-probe-bind-address", "--metrics-bind-address"),
    ] {
        let output = hub_agent(&[flag, &address, other, "0"]);
        assert_eq!(output.status.code(), Some(1));
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            errors,
            format!("hub-agent: cannot listen on {address} ({flag}): address already in use\n")
        );
    }
}

#[test]
fn an_address_that_is_none_is_one_line() {
    let output = hub_agent(&["--metrics-bind-address", "everywhere"]);
    assert_eq!(output.status.code(), Some(1));
    let errors = complaint(&output);
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(errors.contains("--metrics-bind-address") && errors.contains("everywhere"), "{errors}");
}

#[test]
fn no_cluster_is_one_line_that_names_the_variable() {
    let off = ["--metrics-bind-address", "0", "--health-probe-bind-address", "0"];
    let output = hub_agent(&off);
    assert_eq!(output.status.code(), Some(1));
    let errors = complaint(&output);
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(errors.contains("KUBECONFIG"), "{errors}");
}

#[test]
fn help_lists_every_flag_with_its_variable() {
    let output = hub_agent(&["--help"]);
    assert!(output.status.success());
    let help = String::from_utf8(output.stdout).unwrap();
    let command = Args::command();
    let flags =
        command.get_arguments().filter(|flag| flag.get_long().is_some() && !flag.is_hide_set());
    for flag in flags.filter(|flag| !["help", "version"].contains(&flag.get_id().as_str())) {
        let name = flag.get_long().unwrap();
        assert!(help.contains(&format!("--{name}")), "--{name} is not in\n{help}");
        let variable = flag.get_env().unwrap_or_else(|| panic!("--{name} has no variable"));
        let variable = variable.to_str().unwrap();
        assert!(help.contains(&format!("[env: {variable}=")), "{variable} is not in\n{help}");
    }
    assert!(help.contains("KUBECONFIG"));
}

#[test]
fn an_unknown_flag_is_refused() {
    let output = hub_agent(&["--no-such-flag"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(complaint(&output).contains("--no-such-flag"));
}

/// The hub agent's own cluster is the hub.
#[test]
fn a_hub_that_is_not_encrypted_is_refused() {
    let kubeconfig = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("unencrypted");
    let server = "http://user:s3cret@127.0.0.1:1";
    let text = format!(
        "{{apiVersion: v1, kind: Config, current-context: hub,
          contexts: [{{name: hub, context: {{cluster: hub, user: hub}}}}],
          clusters: [{{name: hub, cluster: {{server: '{server}'}}}}],
          users: [{{name: hub, user: {{token: none}}}}]}}"
    );
    std::fs::write(&kubeconfig, text).unwrap();
    let kubeconfig = kubeconfig.to_str().unwrap();
    let ports = ["--metrics-bind-address=0", "--health-probe-bind-address=0"];
    let output = hub_agent(&[&ports[..], &["--kubeconfig", kubeconfig]].concat());
    assert_eq!(output.status.code(), Some(1));
    let said = complaint(&output);
    assert!(said.contains("http://127.0.0.1:1/ is not encrypted"), "{said}");
    assert!(!String::from_utf8_lossy(&output.stderr).contains("s3cret"), "{said}");
}
