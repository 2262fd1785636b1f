//! The panel: what is known of the part that was selected, in sentences, and commands to copy.

use maud::{Markup, html};

use super::edge::shares;
use super::strip::facts;
use super::words::{cause, endpoints, name, of_edge};
use crate::explain::words::since;
use crate::map::query::{Query, Selected};
use crate::named::named;
use crate::output::terminal::line;
use crate::reach::reached::Cell;
use crate::shell::quoted;
use crate::view::{Edge, Finding, MemberView, ServiceView, Share, Unreached, View};

/// Ports that are named.
const PORTS: usize = 20;

/// The panel.
pub(super) fn panel(view: &View, query: &Query) -> Markup {
    html! {
        section #panel aria-label="Details" tabindex="-1" {
            @match &query.selected {
                None => p .quiet { "Select a Service, a member or a line." }
                Some(selected) => {
                    a .close href=(Query { selected: None, ..query.clone() }.href()) aria-label="Close the details" { "×" }
                    (about(view, query, selected))
                }
            }
        }
    }
}

fn about(view: &View, query: &Query, selected: &Selected) -> Markup {
    let service = |wanted: &fleet_api::ObjectName| {
        view.services.iter().find(|service| name(service) == *wanted)
    };
    match selected {
        Selected::Member(wanted) => match view.members.iter().find(|it| it.name == *wanted) {
            Some(member) => of_member(view, member),
            None => gone(wanted),
        },
        Selected::Service(wanted) => match service(wanted) {
            Some(service) => of_service(query, service),
            None => gone(&wanted.to_string()),
        },
        Selected::Export(wanted, member) => match service(wanted) {
            Some(service) => of_edge_of(view, service, &service.exporters, member, "exports"),
            None => gone(&wanted.to_string()),
        },
        Selected::Import(wanted, member) => match service(wanted) {
            Some(service) => of_edge_of(view, service, &service.importers, member, "imports"),
            None => gone(&wanted.to_string()),
        },
    }
}

fn gone(what: &str) -> Markup {
    html! { h2 { (what) } p { "It is not there at this time." } }
}

fn of_member(view: &View, member: &MemberView) -> Markup {
    let cells: Vec<_> = view.reach.iter().filter(|cell| cell.importer == member.name).collect();
    html! {
        h2 { (member.name) }
        p { "State: " (member.state) @if let Some(drained) = &member.drained { ", " (drained.state) " " (drained.percent) " %" } }
        ul { @for fact in facts(member) { li { (fact) } } }
        @if !cells.is_empty() { (reach_table(&cells)) }
        p { "What if this cluster were lost, or drained?" }
        (command(&format!("fleetctl what-if lose {}", quoted(&member.name))))
        (command(&format!("fleetctl what-if drain {}", quoted(&member.name))))
    }
}

/// What its agent has met, by exporter.
fn reach_table(cells: &[&Cell]) -> Markup {
    html! {
        table .shares {
            caption { "Connections that its agent opens to what it imports, in Services" }
            thead { tr { th scope="col" { "of" } th scope="col" { "answer" } th scope="col" { "fail" } th scope="col" { "unknown" } } }
            tbody {
                @for cell in cells {
                    tr {
                        th scope="row" { (cell.exporter) } td { (cell.reachable) }
                        td .bad[cell.unreachable > 0] { (cell.unreachable) } td { (cell.unknown.saturating_add(cell.not_dialled)) }
                    }
                }
            }
        }
    }
}

fn of_service(query: &Query, service: &ServiceView) -> Markup {
    let own_name = name(service);
    let names = |edges: &[Edge]| -> String {
        let names: Vec<_> = edges.iter().map(|edge| edge.member.as_str()).collect();
        if names.is_empty() { "no member".to_owned() } else { names.join(", ") }
    };
    html! {
        h2 { (own_name) }
        @if !service.ports.is_empty() || service.headless {
            p .quiet { @if service.headless { "headless · " } (named(&service.ports, PORTS, ", ")) }
        }
        p .quiet { "exported by " (names(&service.exporters)) " · imported by " (names(&service.importers)) }
        p { (service.verdict) }
        @for finding in service.findings() { (of_finding(finding)) }
        h3 { "Parts" }
        ul {
            @for edge in &service.exporters {
                li { a href=(query.select(Selected::Export(own_name.clone(), edge.member.clone())).href()) { (edge.member) " exports" } ": " (endpoints(edge)) }
            }
            @for edge in &service.importers {
                li { a href=(query.select(Selected::Import(own_name.clone(), edge.member.clone())).href()) { (edge.member) " imports" } ": " (shares(edge)) }
            }
        }
        p { "All steps of its path:" }
        (command(&explain(&own_name)))
    }
}

fn of_edge_of(
    view: &View,
    service: &ServiceView,
    edges: &[Edge],
    member: &str,
    verb: &str,
) -> Markup {
    let Some(edge) = edges.iter().find(|edge| edge.member == member) else {
        return gone(&format!("{member} {verb} {}", name(service)));
    };
    html! {
        h2 { (member) " " (verb) " " (name(service)) }
        p .(of_edge(edge).class()) { (endpoints(edge)) }
        @if let Some(changed) = edge.changed { p { "The endpoints changed " (since(changed, view.at)) " ago." } }
        @if let Some(millis) = edge.lag_p99_millis {
            p { "Changes take " (millis) " ms (p99, of those seen here)." }
            (sparkline(&edge.lags_millis))
        }
        @if let Some(preference) = &edge.preference { p { "Preference: " (preference) } }
        @if !edge.shares.is_empty() { (share_table(&edge.shares)) }
        @if !edge.unreached.is_empty() { (unreached(view, edge)) }
        @match &edge.finding {
            Some(finding) => (of_finding(finding)),
            None => p { "Nothing stops here." }
        }
        p { "All steps of its path:" }
        (command(&explain(&name(service))))
    }
}

/// Which hop fails of which exporter.
fn unreached(view: &View, edge: &Edge) -> Markup {
    html! {
        h3 { "Not reached" }
        ul {
            @for Unreached { member, hop, since: then, detail } in &edge.unreached {
                li { (member) ": it stops at the hop " b { (hop) } ", since " (since(*then, view.at)) ": " (line(detail)) }
            }
        }
    }
}

/// The times of the last changes as a line.
fn sparkline(millis: &[u64]) -> Markup {
    const WIDTH: usize = 240;
    const HEIGHT: usize = 40;
    let (Some(least), Some(most)) = (millis.iter().min(), millis.iter().max()) else {
        return html! {};
    };
    let steps = millis.len().saturating_sub(1).max(1);
    let height = |millis: u64| {
        let part = millis.saturating_mul(HEIGHT as u64).checked_div(*most).unwrap_or_default();
        HEIGHT - usize::try_from(part).unwrap_or(HEIGHT).min(HEIGHT)
    };
    let point = |(index, millis): (usize, &u64)| {
        format!("{},{}", index * WIDTH / steps, height(*millis) + 3)
    };
    let points: Vec<_> = millis.iter().enumerate().map(point).collect();
    let label = format!("The last {} changes took {least} to {most} ms", millis.len());
    html! {
        svg .spark width=(WIDTH) height=(HEIGHT + 6) viewBox={ "0 0 " (WIDTH) " " (HEIGHT + 6) } role="img" aria-label=(label) {
            title { (label) }
            polyline points=(points.join(" ")) {}
        }
    }
}

fn share_table(shares: &[Share]) -> Markup {
    html! {
        table .shares {
            caption { "New connections go to" }
            thead { tr { th scope="col" { "member" } th scope="col" { "share" } th scope="col" { "ready" } th scope="col" { "last resort" } } }
            tbody {
                @for share in shares {
                    tr { th scope="row" { (share.member) } td { (share.percent) " %" } td { (share.ready) } td { (share.last_resort) } }
                }
            }
        }
    }
}

fn of_finding(finding: &Finding) -> Markup {
    html! {
        div .finding {
            p { b { (cause(finding.cause)) } ": " (finding.says) }
            @if let Some(advice) = &finding.advice { (command(advice)) }
        }
    }
}

fn explain(service: &fleet_api::ObjectName) -> String {
    format!("fleetctl explain service {}", quoted(&service.to_string()))
}

/// Something to copy. Scripts show the button. What has characters that a terminal acts on is shown, and not to be copied.
fn command(text: &str) -> Markup {
    html! {
        div .command {
            code { (line(text)) }
            @if line(text) == text { button type="button" data-copy=(text) hidden { "Copy" } }
        }
    }
}
