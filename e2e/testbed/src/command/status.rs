//! `fleet-testbed status`.

use std::fmt::Write as _;

use anyhow::Result;

use super::common::print;
use crate::description::Description;
use crate::state;

pub(super) fn run() -> Result<()> {
    let mut text = String::new();
    let mut folders: Vec<_> = std::fs::read_dir(state::root()?)?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    for folder in folders {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        // Writing to a String cannot fail.
        let _ = match state::read_owner(&folder) {
            Some(owner) => writeln!(text, "{name}: run by process {}", owner.pid),
            None => {
                writeln!(text, "{name}: was killed; `fleet-testbed down --name {name}` cleans up")
            }
        };
        let Ok(description) = Description::read(&folder) else {
            let _ = writeln!(text, "  not ready yet");
            continue;
        };
        for cluster in &description.clusters {
            let _ = writeln!(text, "  {:16} {}", cluster.name, cluster.server);
        }
        for process in state::read_processes(&folder) {
            if process.runs() {
                let log = process.log.as_deref().unwrap_or(&folder);
                let _ =
                    writeln!(text, "  {:24} {:7}  {}", process.name, process.pid, log.display());
            }
        }
    }
    if text.is_empty() {
        text.push_str("No testbed is running.\n");
    }
    print(&text)
}
