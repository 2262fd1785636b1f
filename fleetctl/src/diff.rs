//! `fleetctl diff`: what the agents would write now.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use fleet_accumulator::ClusterId;
use fleet_plan::{Action, Step};
use kube::Client;
use serde::Serialize;
use serde_json::Value;

use crate::args::Cli;
use crate::gather::Watched;
use crate::objects;
use crate::output::{Paint, UNASKED, answer, data, print, report, terminal};
use crate::pending::{Pending, pending};

/// One write.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Change {
    /// The member, or `hub`.
    agent: String,
    controller: &'static str,
    /// What it is about.
    key: String,
    verb: &'static str,
    /// The cluster that is written to.
    cluster: String,
    kind: &'static str,
    name: String,
    /// What changes of the object.
    lines: Vec<String>,
}

/// Prints every missing write, and what could not be read.
pub(crate) async fn run(cli: &Cli) -> Result<ExitCode> {
    let watched = Watched::start(&cli.access).await?;
    let calm = |(pending, _): &(Vec<Pending>, Vec<_>)| pending.is_empty();
    let (pending, unread) = watched.ask(pending, calm).await;
    let mut changes = Vec::new();
    for pending in &pending {
        for step in pending.writes() {
            let (cluster, client) = target(&watched, &pending.agent, step);
            changes.push(Change {
                agent: pending.agent.clone(),
                controller: pending.controller,
                key: pending.key.clone(),
                verb: step.action.verb(),
                cluster,
                kind: step.kind.label(),
                name: step.name.to_string(),
                lines: crate::json_diff::lines(
                    &step.action,
                    current(client.as_ref(), step).await.as_ref(),
                ),
            });
        }
    }
    let text = data(cli.output.format, &changes)?;
    print(&text.unwrap_or_else(|| text_of(&changes, cli.output.paint())))?;
    for hop in &unread {
        report(&format!("fleetctl: incomplete result: {}: {}", hop.cluster, hop.says));
    }
    Ok(match (changes.is_empty(), unread.iter().any(crate::story::Hop::stops)) {
        (true, true) => ExitCode::from(UNASKED),
        (none, _) => answer(none),
    })
}

fn target(watched: &Watched, agent: &str, step: &Step) -> (String, Option<Client>) {
    if step.cluster == ClusterId::Hub {
        return ("hub".to_owned(), Some(watched.hub_clients.write.clone()));
    }
    let members = watched.members();
    let member = members.get(agent).and_then(|member| member.seen.as_ref().ok());
    (agent.to_owned(), member.map(|(_, clients)| clients.write.clone()))
}

/// The existing object, to compare with; `None` if there is none or it may not be read.
async fn current(client: Option<&Client>, step: &Step) -> Option<Value> {
    if matches!(step.action, Action::Create(_) | Action::Delete { .. }) {
        return None;
    }
    let api = objects::api(client?.clone(), step.kind, Some(&step.name.namespace));
    serde_json::to_value(api.get_opt(&step.name.name).await.ok()??).ok()
}

fn text_of(changes: &[Change], paint: Paint) -> String {
    let mut text = String::new();
    for change in changes {
        let Change { agent, controller, key, verb, cluster, kind, name, lines } = change;
        let head = format!("{verb} {kind} {name}");
        let _ = writeln!(
            text,
            "{}{}",
            paint.bold(&head),
            terminal::line(&format!("  on {cluster}, by {agent}'s agent ({controller} {key})"))
        );
        for line in lines {
            let line = match line.as_bytes().first() {
                Some(b'+') => paint.good(line),
                Some(b'-') => paint.bad(line),
                _ => paint.odd(line),
            };
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}
