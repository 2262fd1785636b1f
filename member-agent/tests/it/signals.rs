//! Signals before the agent is connected.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// The first process of a container ignores SIGTERM unless it listens.
#[test]
fn a_signal_ends_the_wait_for_a_token() {
    let kubeconfig = Path::new(env!("CARGO_TARGET_TMPDIR")).join("signals-kubeconfig");
    std::fs::write(&kubeconfig, crate::cli::KUBECONFIG).unwrap();
    let mut agent = Command::new(env!("CARGO_BIN_EXE_member-agent"))
        .args(crate::cli::NO_PORTS)
        .env_clear()
        .envs([crate::cli::MEMBER_CLUSTER_NAME, crate::cli::HUB_SERVER_URL])
        .env("CONFIG_PATH", "/nonexistent/token")
        .env("KUBECONFIG", &kubeconfig)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(agent.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(log.any(|line| line.contains("Waiting for the token file")));
    let pid = agent.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let rest: Vec<_> = log.collect();
    assert_eq!(agent.wait().unwrap().code(), Some(0), "{rest:#?}");
    assert!(rest.iter().any(|line| line.contains("Stopping")), "{rest:#?}");
}
