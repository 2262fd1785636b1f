//! `docs/fleetctl.md` is what the parser says.

#![allow(clippy::unwrap_used, reason = "clippy takes only #[test] functions for tests")]

use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, ArgAction, Command, CommandFactory as _};
use fleetctl::args::Cli;
use fleetctl::cause::Cause;

fn text(help: Option<&clap::builder::StyledStr>) -> String {
    help.map(ToString::to_string).unwrap_or_default()
}

fn cell(help: &str) -> String {
    help.replace('|', "\\|").replace('\n', " ")
}

fn name(argument: &Arg) -> String {
    let value = argument.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    let takes = !matches!(argument.get_action(), ArgAction::SetTrue);
    let value = value.filter(|_| takes).unwrap_or_default();
    match (argument.get_short(), argument.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long} {value}"),
        (None, Some(long)) => format!("--{long} {value}"),
        _ => value,
    }
}

fn rows(command: &Command, is_global: bool, document: &mut String) {
    let mut arguments = command
        .get_arguments()
        .filter(|argument| argument.is_global_set() == is_global)
        .filter(|argument| !["help", "version"].contains(&argument.get_id().as_str()))
        .peekable();
    if arguments.peek().is_none() {
        return;
    }
    document.push_str("\n| argument | default | meaning |\n|---|---|---|\n");
    for argument in arguments {
        let default = argument.get_default_values().first().and_then(|value| value.to_str());
        let default = default.map(|value| format!("`{value}`")).unwrap_or_default();
        let values: Vec<_> = argument
            .get_possible_values()
            .iter()
            .filter(|_| !matches!(argument.get_action(), ArgAction::SetTrue))
            .map(|value| format!("`{}`", value.get_name()))
            .collect();
        let values =
            if values.is_empty() { String::new() } else { format!(": {}", values.join(", ")) };
        let meaning = cell(&text(argument.get_help()));
        let name = name(argument);
        writeln!(document, "| `{}` | {default} | {meaning}{values} |", name.trim()).unwrap();
    }
}

fn commands(command: &Command, path: &str, document: &mut String) {
    for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
        let path = format!("{path} {}", command.get_name());
        let about = text(command.get_about());
        write!(document, "\n## {path}\n\n{about}.\n").unwrap();
        let long = text(command.get_long_about());
        if let Some(more) = long.strip_prefix(&about).map(str::trim).filter(|more| !more.is_empty())
        {
            write!(document, "\n{more}\n").unwrap();
        }
        rows(command, false, document);
        commands(command, &path, document);
    }
}

fn document() -> String {
    let command = Cli::command();
    let mut document =
        "# fleetctl\n\nGenerated from the parser; see `crates/fleetctl/tests/docs.rs`.\n\n"
            .to_owned();
    document += &text(command.get_long_about());
    document += "\n\n## Everywhere\n";
    rows(&command, true, &mut document);
    commands(&command, "fleetctl", &mut document);
    document
        .push_str("\n## Causes\n\nWhat `cause` can be in `fleetctl explain service -o json`.\n\n");
    document.push_str("| cause | meaning |\n|---|---|\n");
    for cause in Cause::ALL {
        writeln!(document, "| `{cause:?}` | {} |", cause.meaning()).unwrap();
    }
    document
}

/// `WRITE_DOCS=1 cargo test -p fleetctl --test docs` writes the file.
#[test]
fn the_page_of_commands_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fleetctl.md");
    let wanted = document();
    if std::env::var_os("WRITE_DOCS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let how = "WRITE_DOCS=1 cargo test -p fleetctl --test docs";
    assert!(found == wanted, "docs/fleetctl.md is stale; run: {how}");
}

#[test]
fn the_command_line_is_sound() {
    Cli::command().debug_assert();
}
