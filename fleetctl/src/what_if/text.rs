//! The answer as text. Pure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::answer::{Answer, ImporterTraffic};
use crate::named::named;
use crate::output::Paint;
use crate::output::terminal::line;
use crate::render::table;
use crate::view::Share;

/// How many names a line has.
const NAMED: usize = 10;

/// All of it; objects one by one if `wide`, else their numbers.
pub(super) fn text(answer: &Answer, wide: bool, paint: Paint) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}", paint.bold(&format!("After {}:", answer.action)));
    text += &changes(answer, wide);
    if !answer.traffic.is_empty() {
        text.push('\n');
        let rows: Vec<_> = answer.traffic.iter().map(row).collect();
        text += &table(&["SERVICE", "IMPORTER", "BEFORE", "AFTER", ""], &rows, paint);
    }
    text.push('\n');
    let verdict = if answer.is_good() {
        paint.good(answer.none_without())
    } else if answer.without_endpoints.is_empty() {
        paint.odd(answer.none_without())
    } else {
        let names = named(&answer.without_endpoints, NAMED, ", ");
        paint.bad(&format!("Left without endpoints: {names}"))
    };
    let _ = writeln!(text, "{verdict}");
    if !answer.unread.is_empty() {
        let names = named(&answer.unread, NAMED, ", ");
        let note =
            format!("Not read as a whole, so that not all is known of what changes there: {names}");
        let _ = writeln!(text, "{}", paint.odd(&note));
    }
    text
}

fn changes(answer: &Answer, wide: bool) -> String {
    let mut text = String::new();
    if answer.changes.is_empty() {
        return "No object changes.\n".to_owned();
    }
    if wide {
        for change in &answer.changes {
            let shown =
                format!("{}: {} {} {}", change.cluster, change.verb, change.kind, change.name);
            let _ = writeln!(text, "  {}", line(&shown));
        }
        return text;
    }
    let mut numbers = BTreeMap::<&str, BTreeMap<(&str, &str), usize>>::new();
    for change in &answer.changes {
        let of_cluster = numbers.entry(&change.cluster).or_default();
        *of_cluster.entry((change.verb, change.kind)).or_default() += 1;
    }
    for (cluster, kinds) in numbers {
        let parts = kinds.iter().map(|((verb, kind), number)| format!("{verb} {number} {kind}"));
        let parts = parts.collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "  {}", line(&format!("{cluster}: {parts}")));
    }
    text
}

fn row(traffic: &ImporterTraffic) -> Vec<String> {
    let note = match (traffic.without, traffic.lost_endpoints) {
        (true, _) => "no endpoint is left".to_owned(),
        (false, 0) => String::new(),
        (false, lost) => format!("{lost} lost endpoints are still listed"),
    };
    vec![
        traffic.service.clone(),
        traffic.importer.clone(),
        shares(&traffic.before),
        shares(&traffic.after),
        note,
    ]
}

/// Shares as `east 60 % (3), west 40 % (2)`.
pub(crate) fn shares(shares: &[Share]) -> String {
    let one = |share: &Share| {
        let last = match share.last_resort {
            0 => String::new(),
            last => format!(" + {last} last resort"),
        };
        format!("{} {} % ({}{last})", share.member, share.percent, share.ready)
    };
    let all: Vec<_> = shares.iter().map(one).collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}
