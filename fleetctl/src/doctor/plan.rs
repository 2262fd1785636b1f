//! The commands that mend what was found, as a script to be read. Pure.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::finding::Level;
use super::report::{Line, Report};
use crate::output::terminal::line;

/// How the script begins.
const HEAD: &str = "#!/bin/sh
# What fleetctl doctor proposes. Read it before you run it: it changes clusters. Charts are taken from a checkout of this project.
# In order: the hub, then each member, and in a cluster first what the rest needs. Where there is something to decide, the script
# has no command.
set -eu
";

/// The script. `exported` leads its commands to the kubeconfig that was read. Findings that are merely good to know have no part in it; a
/// command is in it once.
pub(super) fn script(report: &Report, exported: &str) -> String {
    let mut text = format!("{HEAD}{exported}\n");
    let mut done = BTreeSet::new();
    let wanted = |line: &&Line| matches!(line.level, Level::Failure | Level::Warning);
    for found in report.results.iter().filter(wanted) {
        step(found, &mut done, &mut text);
    }
    if done.is_empty() {
        text += "\n# No command mends anything.\n";
    }
    let unread = report.results.iter().filter(|line| line.level == Level::NotChecked);
    let unread: Vec<_> = unread.map(|it| format!("{} {}", it.cluster, it.check)).collect();
    if !unread.is_empty() {
        let _ = writeln!(text, "\n# Not checked: {}", line(&unread.join(", ")));
    }
    text
}

fn step<'a>(found: &'a Line, done: &mut BTreeSet<&'a str>, text: &mut String) {
    let Line { cluster, check, finding, advice, command, .. } = found;
    let _ = writeln!(text, "\n# {} {check}: {}", line(cluster), line(finding));
    match command {
        Some(command) if line(command) != *command => {
            text.push_str("# No command: a name in it has characters that a terminal acts on.\n");
        }
        Some(command) if done.insert(command) => {
            let _ = writeln!(text, "{command}");
        }
        Some(_) => text.push_str("# The same command as above.\n"),
        None => {
            let advice = advice.as_deref().unwrap_or("see docs/troubleshooting.md");
            let _ = writeln!(text, "# By hand: {}", line(advice));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::{Finding, Unread};

    const EXPORT: &str = "export KUBECONFIG=/prod";

    /// The script below its head and the kubeconfig.
    fn lines(findings: Vec<Finding>) -> String {
        let lines = findings.into_iter().map(|it| Line::of("west", "claim", it)).collect();
        let text = script(&Report::new(lines), EXPORT);
        text.strip_prefix(HEAD).unwrap().strip_prefix(EXPORT).unwrap().to_owned()
    }

    #[test]
    fn commands_are_in_order_and_once() {
        let text = lines(vec![
            Finding::failure("first", "do it").mend("one"),
            Finding::warning("second", "do it").mend("two"),
            Finding::failure("third", "do it").mend("one"),
            Finding::failure("fourth", "think about it"),
            Finding::information("fifth", "nothing").mend("three"),
            Unread::new("you may not", "ask").into(),
        ]);
        let expected = "\n# west claim: first\none\n\n# west claim: second\ntwo\n\n# west claim: third\n# The same command as \
                        above.\n\n# west claim: fourth\n# By hand: think about it\n\n# Not checked: west claim\n";
        assert_eq!(text.strip_prefix('\n'), Some(expected));
    }

    #[test]
    fn a_sound_fleet_has_an_empty_script() {
        assert_eq!(lines(Vec::new()), "\n\n# No command mends anything.\n");
    }

    #[test]
    fn nothing_that_a_cluster_names_becomes_a_command() {
        let text = lines(vec![
            Finding::failure("uid\nrm -rf /", "look\nrm -rf /"),
            Finding::failure("x", "y").mend("kubectl get 'a\nrm -rf /'"),
            Finding::failure("x", "y").mend("kubectl get 'a\u{1b}[2J'"),
        ]);
        assert!(text.lines().all(|line| line.is_empty() || line.starts_with('#')), "{text}");
    }
}
