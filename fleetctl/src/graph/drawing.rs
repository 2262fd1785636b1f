//! What is drawn: three columns of boxes and the lines between them, in a stable order.
//!
//! A row of the middle column is a Service. Where there are more than fit, it is a namespace; where there are more namespaces than
//! fit, the last row is all others. So a picture has at most that many rows, and as many lines as rows and members allow.

mod row;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::shape::{Line, Node, Tone};
use crate::explain::words::age;
use crate::view::{MemberView, View};
use row::{Row, Sum, rows};

/// A picture of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawing {
    /// Members that export.
    pub exporters: Vec<Node>,
    /// Services, or namespaces.
    pub rows: Vec<Node>,
    /// Members that import.
    pub importers: Vec<Node>,
    /// Members that do neither.
    pub others: Vec<Node>,
    /// From exporters to rows.
    pub exports: Vec<Line>,
    /// From rows to importers.
    pub imports: Vec<Line>,
}

impl Drawing {
    /// The picture of a fleet, with at most `max_rows` rows, and one at least.
    pub fn of(view: &View, max_rows: usize) -> Self {
        let rows = rows(view, max_rows.max(1));
        let exporters = members(&rows, |row| &row.exporters);
        let importers = members(&rows, |row| &row.importers);
        let has_role = |name: &str| {
            exporters.binary_search(&name).is_ok() || importers.binary_search(&name).is_ok()
        };
        let others = view.members.iter().map(|member| member.name.as_str());
        let others = others.filter(|name| !has_role(name));
        Self {
            others: others.map(|name| member(view, name)).collect(),
            exports: lines(&rows, &exporters, view.at, |row| &row.exporters),
            imports: lines(&rows, &importers, view.at, |row| &row.importers),
            exporters: exporters.iter().map(|name| member(view, name)).collect(),
            importers: importers.iter().map(|name| member(view, name)).collect(),
            rows: rows.into_iter().map(Row::node).collect(),
        }
    }

    /// Every column with its title and the first letter of the ids of its boxes, which their places complete.
    pub(super) fn columns(&self) -> [(&'static str, char, &[Node]); 4] {
        [
            ("exporters", 'e', &self.exporters),
            ("Services", 's', &self.rows),
            ("importers", 'i', &self.importers),
            ("others", 'o', &self.others),
        ]
    }

    /// Every line with the ids of its ends.
    pub(super) fn connections(&self) -> impl Iterator<Item = (String, String, &Line)> {
        let row = |line: &Line| format!("s{}", line.row);
        let exports =
            self.exports.iter().map(move |line| (format!("e{}", line.member), row(line), line));
        let imports =
            self.imports.iter().map(move |line| (row(line), format!("i{}", line.member), line));
        exports.chain(imports)
    }
}

type Sums<'a> = BTreeMap<&'a str, Sum<'a>>;

/// The members of a column, by name.
fn members<'a>(rows: &[Row<'a>], of: impl for<'r> Fn(&'r Row<'a>) -> &'r Sums<'a>) -> Vec<&'a str> {
    let names: BTreeSet<_> = rows.iter().flat_map(|row| of(row).keys().copied()).collect();
    names.into_iter().collect()
}

fn lines<'a>(
    rows: &[Row<'a>],
    members: &[&'a str],
    at: Timestamp,
    of: impl for<'r> Fn(&'r Row<'a>) -> &'r Sums<'a>,
) -> Vec<Line> {
    let mut lines = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        for (member, sum) in of(row) {
            let Ok(member) = members.binary_search(member) else { continue };
            lines.push(sum.line(member, index, at));
        }
    }
    lines
}

fn member(view: &View, name: &str) -> Node {
    let found = view.members.binary_search_by(|member| member.name.as_str().cmp(name));
    let Some(member) = found.ok().map(|index| &view.members[index]) else {
        return Node {
            label: name.to_owned(),
            note: "Unknown".to_owned(),
            detail: String::new(),
            tone: Tone::Odd,
        };
    };
    Node { label: name.to_owned(), note: note(member), detail: detail(member), tone: tone(member) }
}

fn note(member: &MemberView) -> String {
    let heartbeat = member.heartbeat_seconds.map(SignedDuration::from_secs);
    let heartbeat = heartbeat.map(|silence| format!(", heartbeat {} ago", age(silence)));
    format!("{}{}", member.state, heartbeat.unwrap_or_default())
}

fn detail(member: &MemberView) -> String {
    let mut parts = Vec::new();
    parts.extend(member.agent_version.as_ref().map(|version| format!("agent {version}")));
    parts.extend(member.reaches_hub.map(|reaches| {
        let hub = if reaches { "reaches the hub" } else { "does not reach the hub" };
        hub.to_owned()
    }));
    parts.extend(member.credential.map(|state| format!("credential {state}")));
    parts.extend(member.token_expires.as_ref().map(|at| format!("token expires {at}")));
    parts.extend((member.lag > 0).then(|| format!("EndpointSlices to be written: {}", member.lag)));
    parts.extend(
        member
            .reach
            .filter(|reach| reach.unreachable > 0)
            .map(|reach| format!("imports that it does not reach: {}", reach.unreachable)),
    );
    parts.extend(member.unseen.as_ref().map(|reason| format!("not read: {reason}")));
    parts.join("; ")
}

fn tone(member: &MemberView) -> Tone {
    match member.state {
        _ if member.credential == Some("expired") => Tone::Bad,
        "Joined" | "Unmanaged" if member.unseen.is_none() => Tone::Good,
        "Silent" | "Left" | "Unknown" => Tone::Bad,
        _ => Tone::Odd,
    }
}
