//! The list of findings that are tolerated for now.
//!
//! A line is `rule place what`: a finding matches if it has that rule, its place starts with `place`, and it is `what` or
//! `what` is `*`. `#` begins a comment.

use crate::finding::Finding;

/// Findings that no line allows, and lines that allow nothing.
pub(crate) fn judge(list: &str, findings: &[Finding]) -> Vec<String> {
    let lines: Vec<_> =
        list.lines().map(|line| line.split('#').next().unwrap_or("").trim()).collect();
    let lines: Vec<_> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    let new = findings.iter().filter(|finding| !lines.iter().any(|line| allows(line, finding)));
    let stale = lines.iter().filter(|line| !findings.iter().any(|finding| allows(line, finding)));
    let stale =
        stale.map(|line| format!("allowed.txt: nothing matches `{line}` any more — delete it"));
    new.map(ToString::to_string).chain(stale).collect()
}

fn allows(line: &str, finding: &Finding) -> bool {
    let mut parts = line.splitn(3, ' ');
    let (rule, place, what) = (parts.next(), parts.next(), parts.next());
    rule == Some(finding.rule)
        && place.is_some_and(|place| finding.place.starts_with(place))
        && what.is_some_and(|what| what == "*" || what == finding.what)
}
