//! Answers as text. Pure.

mod standard;
mod table;

use std::fmt::Write as _;

use crate::named::named;
use crate::offload::offload_table;
use crate::output::Paint;
use crate::output::terminal::line;
use crate::status::{MemberStatus, ServiceStatus, Status};
use crate::story::{State, Story};
pub(crate) use table::table;
use table::{NAMED, ages, list};

/// The explanation of one Service: the verdict, what to do, and every step.
pub fn story(story: &Story, paint: Paint) -> String {
    let verdict = &story.verdict;
    let mut text = if story.stops() { paint.bad(verdict) } else { paint.good(verdict) };
    text.push('\n');
    if let Some(advice) = &story.advice {
        let _ = writeln!(text, "{} {}", paint.bold("What to do:"), line(advice));
    }
    text.push('\n');
    let width = |of: fn(&crate::story::Hop) -> &str| {
        story.hops.iter().map(|hop| line(of(hop)).chars().count()).max().unwrap_or_default()
    };
    let (clusters, objects) = (width(|hop| &hop.cluster), width(|hop| &hop.object));
    for hop in &story.hops {
        let state = painted(paint, hop.state, &format!("{:6}", hop.state));
        let [cluster, object, says] = [&hop.cluster, &hop.object, &hop.says].map(|it| line(it));
        let _ = writeln!(text, "  {cluster:clusters$}  {object:objects$}  {state}  {says}");
    }
    let others = story.hops.iter().filter(|hop| hop.stops()).skip(1);
    for hop in others {
        let advice = hop.advice.as_deref().unwrap_or_default();
        let says = format!("{}: {}", hop.cluster, hop.says);
        let _ = writeln!(text, "\n{} {}", paint.bold("Also in"), line(&says));
        let _ = writeln!(text, "  {}", line(advice));
    }
    text
}

fn painted(paint: Paint, state: State, text: &str) -> String {
    match state {
        State::Ok => paint.good(text),
        State::Unseen => paint.odd(text),
        State::Stops => paint.bad(text),
    }
}

/// The state of the fleet.
pub fn status(status: &Status, wide: bool, paint: Paint) -> String {
    let mut head = vec!["MEMBER", "STATE", "HEARTBEAT", "EXPORTS", "CONFLICTS", "IMPORTS", "LAG"];
    let leases = wide && status.members.iter().any(|member| member.lease_seconds.is_some());
    if leases {
        head.push("LEASE");
    }
    if wide {
        head.extend(["OLDEST", "CONTEXT"]);
    }
    let rows: Vec<_> = status.members.iter().map(|member| row(member, wide, leases)).collect();
    let mut text = table(&head, &rows, paint);
    if status.members.is_empty() {
        "No member has joined. To join one: fleetctl join NAME\n".clone_into(&mut text);
    }
    if wide && !status.services.is_empty() {
        let head = ["SERVICE", "EXPORTED BY", "CONFLICTS", "IMPORTED BY", "WAITING", "ENDPOINTS"];
        text.push('\n');
        let rows: Vec<_> = status.services.iter().map(service_row).collect();
        text += &table(&head, &rows, paint);
    }
    text += &standard::tables(status, wide, paint);
    if !status.offload.is_empty() {
        text += &["\n", &offload_table(&status.offload, paint)].concat();
    }
    for line in status.traffic.lines() {
        let _ = writeln!(text, "{}", paint.odd(&line));
    }
    text += &quotas(status, paint);
    for hop in &status.unread {
        let _ = writeln!(text, "{}", paint.bad(&format!("{}: {}", hop.cluster, hop.says)));
    }
    let replaced =
        status.members.iter().filter_map(|member| Some((&member.name, member.replaced.as_ref()?)));
    for (name, reason) in replaced {
        let _ = writeln!(text, "{}", paint.bad(&format!("{name} writes nothing: {reason}")));
    }
    let waiting = status
        .members
        .iter()
        .filter_map(|member| Some((&member.name, member.unconfirmed.as_ref()?)));
    for (name, how) in waiting {
        let says = format!("{name} is asked to leave and waits for a confirmation; {how}");
        let _ = writeln!(text, "{}", paint.bad(&says));
    }
    text += &credentials(status, paint);
    let unseen =
        status.members.iter().filter_map(|member| Some((&member.name, member.unseen.as_ref()?)));
    for (name, reason) in unseen {
        let _ = writeln!(text, "{}", paint.odd(&format!("{name} could not be read: {reason}")));
    }
    text
}

/// Part of a quota that is reported when it is used, in percent.
const NEARLY_FULL: u64 = 80;

/// Members that are about to reach their quota on the hub, and those that have none.
fn quotas(status: &Status, paint: Paint) -> String {
    let mut text = String::new();
    for member in &status.members {
        if let Some(quota) = member.quota.as_ref().filter(|quota| quota.percent >= NEARLY_FULL) {
            let (percent, resource) = (quota.percent, &quota.resource);
            let says = format!("{} uses {percent} % of its quota of {resource}", member.name);
            let _ = writeln!(text, "{}", paint.odd(&says));
        }
    }
    if !status.unlimited.is_empty() {
        let names = named(&status.unlimited, NAMED, ", ");
        let says = format!("No quota on the hub limits what is created by: {names}");
        let _ = writeln!(text, "{}", line(&says));
    }
    text
}

/// Members whose credential is no good, or stays as it is.
fn credentials(status: &Status, paint: Paint) -> String {
    let mut text = String::new();
    for member in &status.members {
        let Some(credential) = &member.credential else { continue };
        let Some(says) = credential.says.as_ref().filter(|_| credential.state != "unknown") else {
            continue;
        };
        let says = format!("{}: {says}", member.name);
        let says =
            if credential.state == "expired" { paint.bad(&says) } else { line(&says).into_owned() };
        let _ = writeln!(text, "{says}");
    }
    text
}

fn row(member: &MemberStatus, wide: bool, leases: bool) -> Vec<String> {
    let mut row = vec![
        member.name.clone(),
        member.state.to_owned(),
        ages(member.heartbeat_seconds),
        member.exports.to_string(),
        member.conflicts.to_string(),
        format!("{}/{}", member.granted, member.imports),
        member.lag.slices.to_string(),
    ];
    if leases {
        row.push(ages(member.lease_seconds));
    }
    if wide {
        row.push(ages(member.lag.oldest_seconds));
        row.push(member.context.clone().unwrap_or_else(|| "-".to_owned()));
    }
    row
}

fn service_row(service: &ServiceStatus) -> Vec<String> {
    vec![
        service.name.clone(),
        list(&service.exporters),
        list(&service.conflicts),
        list(&service.importers),
        list(&service.waiting),
        service.endpoints.to_string(),
    ]
}
