//! `docs/flags.md` is generated from the parsers.

use std::fmt::Write;
use std::path::Path;

use clap::{Arg, Command, CommandFactory};

fn text(flag: &Arg) -> String {
    let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
    help.replace('|', "\\|").replace('\n', " ")
}

fn rows(command: &Command, document: &mut String) {
    let own = |flag: &&Arg| !["help", "version"].contains(&flag.get_id().as_str());
    for flag in command.get_arguments().filter(own).filter(|flag| !flag.is_hide_set()) {
        let name = flag.get_long().expect("every flag has a long name");
        let variable = flag.get_env().and_then(|name| name.to_str());
        let variable = variable.map(|name| format!("`{name}`")).unwrap_or_default();
        let default = flag.get_default_values().first().and_then(|value| value.to_str());
        let default = default.map(|value| format!("`{value}`")).unwrap_or_default();
        let meaning = text(flag);
        writeln!(document, "| `--{name}` | {variable} | {default} | {meaning} |")
            .expect("a String takes all");
    }
}

fn document() -> String {
    let mut document = "# Flags\n\nGenerated from the agents' parsers; see \
        `member-agent/tests/it/flags.rs`. A flag takes precedence over its variable.\n"
        .to_owned();
    let member = member_agent::args::Args::command();
    for command in [&hub_agent::args::Args::command(), &member] {
        let name = command.get_name();
        write!(document, "\n## {name}\n\n| flag | variable | default | meaning |\n")
            .expect("a String takes all");
        document.push_str("|---|---|---|---|\n");
        rows(command, &mut document);
    }
    document.push_str(
        "\n## By variable only (member-agent)\n\n| variable | meaning |\n|---|---|\n\
        | `HUB_SERVER_URL` | the hub's API server, `https://...` |\n\
        | `CONFIG_PATH` | file with the bearer token for the hub; read again when it changes, and after a 401 |\n\
        | `HUB_CERTIFICATE_AUTHORITY` | CA certificates of the hub, base64 of PEM; by default those of the system |\n\
        | `HUB_KUBE_HEADER` | headers to add to each request to the hub, one `Name: value` per line |\n\
        \n## Flags of the original without effect\n\n\
        Both agents accept these flags, so that a Go agent's arguments can be used, and log once that \
        they have no effect. `--enable-v1alpha1-apis=true` and \
        `--enable-traffic-manager-feature=true` are rejected.\n\n",
    );
    let hidden = member.get_arguments().filter(|flag| flag.is_hide_set());
    let hidden: Vec<_> = hidden
        .map(|flag| format!("`--{}`", flag.get_long().expect("every flag has a long name")))
        .collect();
    writeln!(document, "{}", hidden.join(", ")).expect("a String takes all");
    document
}

/// `WRITE_FLAGS=1 cargo test -p member-agent --test it flags` writes the file.
#[test]
fn the_table_of_flags_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/flags.md");
    let wanted = document();
    if std::env::var_os("WRITE_FLAGS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let how = "WRITE_FLAGS=1 cargo test -p member-agent --test it flags";
    assert!(found == wanted, "docs/flags.md is stale; run: {how}");
}
