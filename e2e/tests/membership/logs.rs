//! What the agents log on their way is what `docs/logs.md` lists.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use fleet_testbed::Testbed;
use fleet_testbed::agents::Agents;
use jiff::Timestamp;
use serde_json::{Map, Value};

/// All that our own code logs; others only where something is wrong.
pub(crate) const FILTER: &str =
    "info,fleet_runtime=debug,fleet_accumulator=debug,hub_agent=debug,member_agent=debug";

/// Checks every line of every agent so far.
pub(crate) fn are_as_documented(testbed: &Testbed, agents: &Agents) -> Result<()> {
    let fields = documented()?;
    let token = std::fs::read_to_string(testbed.hub_token_path(0))?;
    let mut messages = BTreeSet::new();
    for agent in testbed.agents() {
        let log = std::fs::read_to_string(agents.log(agent)?)?;
        ensure!(!log.contains(token.trim()), "{agent:?} logs its token");
        for line in log.lines() {
            let line: Map<String, Value> =
                serde_json::from_str(line).with_context(|| format!("not a JSON object: {line}"))?;
            check(&line, &fields).with_context(|| format!("{agent:?}: {line:?}"))?;
            messages.insert(line["message"].as_str().unwrap_or_default().to_owned());
        }
    }
    for wanted in ["Started", "Planned", "Wrote", "Source state changed", "Stopped"] {
        ensure!(messages.contains(wanted), "no agent logs {wanted:?}: {messages:?}");
    }
    Ok(())
}

/// The fields in the tables of `docs/logs.md`.
fn documented() -> Result<BTreeSet<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/logs.md");
    let text = std::fs::read_to_string(path)?;
    let cells = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once(" |"));
    Ok(cells.flat_map(|(names, _)| names.split('`').map(str::to_owned)).collect())
}

fn check(line: &Map<String, Value>, fields: &BTreeSet<String>) -> Result<()> {
    let text = |field: &str| line.get(field).and_then(Value::as_str).context(field.to_owned());
    text("timestamp")?.parse::<Timestamp>()?;
    ensure!(["ERROR", "WARN", "INFO", "DEBUG"].contains(&text("level")?), "level");
    let target = text("target")?;
    if !["fleet_", "hub_agent", "member_agent"].iter().any(|ours| target.starts_with(ours)) {
        return Ok(());
    }
    let message = text("message")?;
    let is_phrase = message.starts_with(char::is_uppercase)
        && !message.ends_with('.')
        && !message.contains(|sign: char| sign.is_ascii_digit() || "{/".contains(sign));
    ensure!(is_phrase, "a message is a short phrase without data");
    for (field, value) in line {
        ensure!(fields.contains(field), "{field} is not in docs/logs.md");
        ensure!(!field.ends_with("_count") || value.is_u64(), "{field} is a number");
        let is_part = ["namespace", "name"].contains(&field.as_str());
        ensure!(!is_part || !value.to_string().contains('/'), "{field} is one part of a name");
    }
    Ok(())
}
