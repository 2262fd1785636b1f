//! The program `member-agent` as its users start it, without a cluster.

use std::net::TcpListener;
use std::process::{Command, Output};

use clap::CommandFactory;
use member_agent::args::Args;

pub(crate) const MEMBER_CLUSTER_NAME: (&str, &str) = ("MEMBER_CLUSTER_NAME", "member-1");
pub(crate) const HUB_SERVER_URL: (&str, &str) = ("HUB_SERVER_URL", "https://127.0.0.1:1");
const CONFIG_PATH: (&str, &str) = ("CONFIG_PATH", "/nonexistent/token");

/// Of a cluster that is not there; it is asked nothing before all variables are read.
pub(crate) const KUBECONFIG: &str = "\
apiVersion: v1
kind: Config
current-context: own
contexts: [{ name: own, context: { cluster: own, user: own } }]
clusters: [{ name: own, cluster: { server: 'http://127.0.0.1:1' } }]
users: [{ name: own, user: { token: none } }]
";

pub(crate) const NO_PORTS: [&str; 4] =
    ["--metrics-bind-address", "0", "--health-probe-bind-address", "0"];

/// Runs the program with nothing but these variables.
fn member_agent(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_member-agent"));
    command.args(arguments).env_clear().envs(variables.iter().copied());
    command.output().expect("the program starts")
}

/// The one line of the error output besides the log.
#[track_caller]
fn one_line(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let said: Vec<&str> = errors.lines().filter(|line| !line.starts_with('{')).collect();
    assert_eq!(said.len(), 1, "{errors}");
    assert_eq!(output.status.code(), Some(1), "{errors}");
    said[0].to_owned()
}

#[test]
fn a_taken_port_is_one_line_that_names_the_flag() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let variables = [MEMBER_CLUSTER_NAME, HUB_SERVER_URL, CONFIG_PATH];
    for (flag, other) in [
        ("--metrics-bind-address", "--health-probe-bind-address"),
        ("--health-probe-bind-address", "--metrics-bind-address"),
    ] {
        let output = member_agent(&[flag, &address, other, "0"], &variables);
        let reason = format!("cannot listen on {address} ({flag}): address already in use");
        assert_eq!(one_line(&output), format!("member-agent: {reason}"));
    }
}

#[test]
fn a_missing_variable_is_named_in_one_line() {
    let all = [MEMBER_CLUSTER_NAME, HUB_SERVER_URL, CONFIG_PATH];
    for (missing, _) in all {
        let others: Vec<_> = all.into_iter().filter(|(name, _)| *name != missing).collect();
        let said = one_line(&member_agent(&NO_PORTS, &others));
        assert_eq!(said, format!("member-agent: {missing} is not set"));
        // Set to nothing is not set.
        let empty = [&others[..], &[(missing, "")]].concat();
        assert!(one_line(&member_agent(&NO_PORTS, &empty)).contains(missing));
    }
}

#[test]
fn a_variable_that_makes_no_sense_is_named_in_one_line() {
    let kubeconfig = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("kubeconfig");
    std::fs::write(&kubeconfig, KUBECONFIG).unwrap();
    let own = ("KUBECONFIG", kubeconfig.to_str().unwrap());
    let none = ("KUBECONFIG", "/nonexistent/kubeconfig");
    let (url, ca) = (("HUB_SERVER_URL", "hub"), ("HUB_CERTIFICATE_AUTHORITY", "!"));
    for (variables, named) in [
        (vec![("MEMBER_CLUSTER_NAME", "No_Name"), HUB_SERVER_URL], "MEMBER_CLUSTER_NAME"),
        (vec![MEMBER_CLUSTER_NAME, url, own], "HUB_SERVER_URL"),
        (vec![MEMBER_CLUSTER_NAME, HUB_SERVER_URL, own, ca], "HUB_CERTIFICATE_AUTHORITY"),
        (vec![MEMBER_CLUSTER_NAME, HUB_SERVER_URL, none], "KUBECONFIG"),
    ] {
        let variables = [&variables[..], &[CONFIG_PATH]].concat();
        let said = one_line(&member_agent(&NO_PORTS, &variables));
        assert!(said.contains(named), "{named} is not in: {said}");
    }
}

#[test]
fn one_way_to_the_hub_is_enough() {
    let kubeconfig = ("HUB_KUBECONFIG", "/nonexistent/hub");
    for arguments in [&NO_PORTS[..], &[&NO_PORTS[..], &["--prepare-rollback"]].concat()] {
        for other in [HUB_SERVER_URL, CONFIG_PATH] {
            let said =
                one_line(&member_agent(arguments, &[MEMBER_CLUSTER_NAME, kubeconfig, other]));
            assert!(said.contains("HUB_KUBECONFIG") && said.contains(other.0), "{said}");
        }
        // A command that ends reads the same flags.
        let own = [arguments, &["--kubeconfig", "/nonexistent/own"]].concat();
        let said = one_line(&member_agent(&own, &[MEMBER_CLUSTER_NAME, kubeconfig]));
        assert!(said.contains("--kubeconfig: /nonexistent/own"), "{said}");
    }
}

#[test]
fn help_lists_every_flag_with_its_variable() {
    let output = member_agent(&["--help"], &[]);
    assert!(output.status.success());
    let help = String::from_utf8(output.stdout).unwrap();
    let command = Args::command();
    let flags =
        command.get_arguments().filter(|flag| flag.get_long().is_some() && !flag.is_hide_set());
    for flag in flags.filter(|flag| !["help", "version"].contains(&flag.get_id().as_str())) {
        let name = flag.get_long().unwrap();
        assert!(help.contains(&format!("--{name}")), "--{name} is not in\n{help}");
        // Done once: a variable would stay behind in the Pod and do it again.
        if name == "prepare-rollback" {
            continue;
        }
        let variable = flag.get_env().unwrap_or_else(|| panic!("--{name} has no variable"));
        let variable = variable.to_str().unwrap();
        assert!(help.contains(&format!("[env: {variable}=")), "{variable} is not in\n{help}");
    }
    for variable in ["KUBECONFIG", "HUB_SERVER_URL", "CONFIG_PATH", "HUB_CERTIFICATE_AUTHORITY"] {
        assert!(help.contains(variable), "{variable} is not in\n{help}");
    }
}

#[test]
fn an_unknown_flag_is_refused() {
    let output = member_agent(&["--no-such-flag"], &[MEMBER_CLUSTER_NAME]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--no-such-flag"));
}
