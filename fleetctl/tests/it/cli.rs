//! The program as its users start it, without a cluster.

use std::process::{Command, Output};

/// Of clusters that are not there.
const KUBECONFIG: &str = "\
apiVersion: v1
kind: Config
current-context: hub
contexts: [{ name: hub, context: { cluster: hub, user: me } }]
clusters: [{ name: hub, cluster: { server: 'https://127.0.0.1:1' } }]
users: [{ name: me, user: { token: none } }]
";

fn fleetctl(arguments: &[&str], kubeconfig: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fleetctl"));
    command.args(arguments).env_clear();
    let file = kubeconfig.map(|text| {
        let name =
            format!("fleetctl-{}-{}", std::process::id(), arguments.join("-").replace('/', "_"));
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        path
    });
    if let Some(path) = &file {
        command.env("KUBECONFIG", path);
    }
    let output = command.output().expect("the program starts");
    file.map(std::fs::remove_file).transpose().unwrap();
    output
}

/// Exit code 2, nothing on standard output, and one line that holds all of `words`.
#[track_caller]
fn refuses(output: &Output, words: &[&str]) {
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(output.stdout.is_empty());
    for word in words {
        assert!(told.contains(word), "{word:?} is not in: {told}");
    }
}

#[test]
fn without_a_kubeconfig_it_says_what_to_give() {
    let output = fleetctl(&["status", "--kubeconfig", "/nonexistent"], None);
    refuses(&output, &["fleetctl: no kubeconfig: use --kubeconfig, or set KUBECONFIG"]);
    assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1);
}

#[test]
fn an_unknown_context_is_named_with_those_that_are_known() {
    let output = fleetctl(&["status", "--hub-context", "moon"], Some(KUBECONFIG));
    refuses(&output, &["no context \"moon\"", "its contexts: hub"]);
    let output = fleetctl(&["status", "--member", "east=mars"], Some(KUBECONFIG));
    refuses(&output, &["no context \"mars\""]);
}

#[test]
fn a_hub_that_does_not_answer_is_named() {
    let output = fleetctl(&["explain", "service", "shop/web"], Some(KUBECONFIG));
    refuses(&output, &["context hub", "https://127.0.0.1:1", "refused"]);
}

#[test]
fn an_address_that_is_not_encrypted_is_refused() {
    let kubeconfig = KUBECONFIG.replace("https://", "http://user:s3cret@");
    for arguments in [&["status"][..], &["join", "east"], &["leave", "hub", "--local"]] {
        let output = fleetctl(arguments, Some(&kubeconfig));
        refuses(&output, &["context hub: http://127.0.0.1:1/ is not encrypted", "use https://"]);
        assert!(!String::from_utf8_lossy(&output.stderr).contains("s3cret"));
    }
    let output = fleetctl(&["join", "east", "--hub-url", "http://hub"], Some(KUBECONFIG));
    refuses(&output, &["--hub-url", "http://hub/ is not encrypted"]);
}

#[test]
fn names_are_checked_before_anything_is_done() {
    refuses(&fleetctl(&["explain", "service", "web"], None), &["NAMESPACE/NAME"]);
    refuses(&fleetctl(&["status", "--member", "east="], None), &["NAME=CONTEXT"]);
    refuses(
        &fleetctl(&["join", "East"], Some(KUBECONFIG)),
        &["\"East\" is not a valid member name"],
    );
    refuses(&fleetctl(&["leave", "a/b"], Some(KUBECONFIG)), &["is not a valid member name"]);
}

#[test]
fn a_member_alone_is_the_context_of_its_name() {
    let output = fleetctl(&["doctor", "--member", "east"], Some(KUBECONFIG));
    refuses(&output, &["no context \"east\"", "its contexts: hub"]);
}

#[test]
fn a_doctor_that_reaches_no_cluster_has_no_answer() {
    let output = fleetctl(&["doctor", "--member", "hub"], Some(KUBECONFIG));
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let told = String::from_utf8_lossy(&output.stdout);
    let words =
        ["not checked, because the cluster cannot be read: context hub", "2 not checked, 0 ok"];
    assert!(words.iter().all(|word| told.contains(word)), "{told}");
}

#[test]
fn a_corefile_is_printed_of_one_cluster() {
    let output = fleetctl(&["doctor", "--print-corefile"], Some(KUBECONFIG));
    refuses(&output, &["name it with --member NAME"]);
    let output = fleetctl(&["doctor", "--print-corefile", "--member", "hub"], Some(KUBECONFIG));
    refuses(&output, &["fleetctl: the cluster cannot be read: context hub"]);
}

#[test]
fn as_a_plugin_of_kubectl_it_is_called_that_way() {
    let link = std::env::temp_dir().join(format!("kubectl-fleetnet-{}", std::process::id()));
    let folder = link.with_extension("bin");
    std::fs::create_dir_all(&folder).unwrap();
    let plugin = folder.join("kubectl-fleetnet");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fleetctl"), &plugin).unwrap();
    let output = Command::new(&plugin).args(["explain", "service", "--help"]).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(help.contains("Usage: kubectl fleetnet explain service"), "{help}");
}

#[test]
fn completion_knows_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let output = fleetctl(&["completion", shell], None);
        assert!(output.status.success());
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(["explain", "trace", "diff"].iter().all(|word| script.contains(word)), "{shell}");
    }
}
