//! `docs/fleetctl.md` is generated from the parser.

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
        "# fleetctl\n\nGenerated from the parser; see `fleetctl/tests/it/docs.rs`.\n\n".to_owned();
    document += &text(command.get_long_about());
    document += "\n\n## Global options\n";
    rows(&command, true, &mut document);
    commands(&command, "fleetctl", &mut document);
    document
        .push_str("\n## Causes\n\nValues of `cause` in `fleetctl explain service -o json`.\n\n");
    document.push_str("| cause | meaning |\n|---|---|\n");
    for cause in Cause::ALL {
        writeln!(document, "| `{cause:?}` | {} |", cause.meaning()).unwrap();
    }
    document
}

/// `WRITE_DOCS=1 cargo test -p fleetctl --test it docs` writes the file.
#[test]
fn the_page_of_commands_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/fleetctl.md");
    let wanted = document();
    if std::env::var_os("WRITE_DOCS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let how = "WRITE_DOCS=1 cargo test -p fleetctl --test it docs";
    assert!(found == wanted, "docs/fleetctl.md is stale; run: {how}");
}

#[test]
fn the_command_line_is_sound() {
    Cli::command().debug_assert();
}

/// The README and the pages that people wrote.
fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let docs = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = docs.chain([root.join("README.md")]);
    let pages = pages.filter(|path| path.extension().is_some_and(|end| end == "md"));
    pages
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect()
}

/// Every `fleetctl ...` of a page: lines of its code blocks, joined where they go on, and code within its sentences.
fn calls(page: &str) -> Vec<String> {
    let mut calls = Vec::new();
    let mut is_code = false;
    let joined = page.replace("\\\n", " ");
    for line in joined.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            let commands = line.split(['|', ';', '&', '(']);
            // `$ ` is a prompt, `do ` a loop.
            let starts = ["$ ", "do ", ""].map(|before| format!("{before}fleetctl "));
            let call = |command: &str| {
                let command = command.trim_start();
                let start = starts.iter().find(|start| command.starts_with(start.as_str()))?;
                Some(command[start.len() - "fleetctl ".len()..].to_owned())
            };
            calls.extend(commands.filter_map(call));
        } else {
            calls.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    calls.retain(|call| call.starts_with("fleetctl "));
    calls
}

/// The words of a call, up to a comment or where its output goes. A quoted one is one without blanks.
fn words(call: &str) -> Vec<&str> {
    let is_end = |word: &&str| word.starts_with(['#', '>']) || word.starts_with("2>");
    let words = call.split_whitespace().take_while(|word| !is_end(word));
    words.map(|word| word.trim_matches('\'')).collect()
}

#[test]
fn every_call_in_the_docs_is_understood() {
    use clap::error::ErrorKind;

    let mut count = 0;
    for (page, text) in pages() {
        for call in calls(&text) {
            count += 1;
            let Err(error) = Cli::command().try_get_matches_from(words(&call)) else { continue };
            // A sentence may name a command without all that it needs.
            let is_short = matches!(
                error.kind(),
                ErrorKind::MissingRequiredArgument
                    | ErrorKind::MissingSubcommand
                    | ErrorKind::DisplayHelp
                    | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            );
            assert!(is_short, "{page}: {call}\n{error}");
        }
    }
    assert!(count > 10, "only {count} calls were found");
}

#[test]
fn calls_are_found_in_blocks_and_in_sentences() {
    let page = "Say `fleetctl status` or `kubectl get`.\n```sh\nfor m in a; do fleetctl join $m \\\n  --secret > $m.yaml; done\n$ fleetctl diff # nothing\n```\n";
    let calls = calls(page);
    let calls: Vec<_> = calls.iter().map(|call| words(call).join(" ")).collect();
    assert_eq!(calls, ["fleetctl status", "fleetctl join $m --secret", "fleetctl diff"]);
}
