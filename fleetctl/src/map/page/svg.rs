//! The map: exporters, Services, importers, and lines between them.

use maud::{Markup, html};

use super::edge::{export_label, import_label};
use super::words::{Tone, cause, name, of_edge, of_member, of_service};
use crate::map::layout::{LEFT, Layout, MEMBER, Path, Place, SERVICE, WIDTH};
use crate::map::query::{Query, Selected};
use crate::named::named;
use crate::view::{ServiceView, View};

/// Characters that fit into a box.
const FITS: usize = 30;
/// Ports that a box names.
const PORTS: usize = 2;
/// Characters of a label that fit beside a line.
const LABEL: usize = 34;

/// The map of these Services.
pub(super) fn map(view: &View, query: &Query, services: &[&ServiceView]) -> Markup {
    let layout = Layout::of(services, &view.members);
    html! {
        svg #map width=(WIDTH) height=(layout.height) viewBox={ "0 0 " (WIDTH) " " (layout.height) } role="group" aria-label="Map of exporters, Services and importers" {
            // Lines first, so that boxes are above them.
            @for path in &layout.exports { (curve(path, LEFT[0] + MEMBER, path.member, LEFT[1], path.row)) }
            @for path in &layout.imports { (curve(path, LEFT[1] + SERVICE, path.row, LEFT[2], path.member)) }
            @for (left, title) in LEFT.iter().zip(["EXPORT", "SERVICES OF THE FLEET", "IMPORT"]) {
                text .col x=(left) y="14" { (title) }
            }
            @for (member, place) in &layout.exporters {
                (member_box(view, query, (member, *place), LEFT[0], lines_of(&layout.exports, member)))
            }
            @for (service, place) in &layout.services { (service_box(query, service, *place)) }
            @for (member, place) in &layout.importers {
                (member_box(view, query, (member, *place), LEFT[2], lines_of(&layout.imports, member)))
            }
            @for path in &layout.exports {
                (label(query, Selected::Export(name(path.service), path.edge.member.clone()), path, &export_label(path.edge), LEFT[1] - 8, "end"))
            }
            @for path in &layout.imports {
                (label(query, Selected::Import(name(path.service), path.edge.member.clone()), path, &import_label(path.edge), LEFT[1] + SERVICE + 8, "start"))
            }
        }
    }
}

fn lines_of(paths: &[Path<'_>], member: &str) -> usize {
    paths.iter().filter(|path| path.edge.member == member).count()
}

/// Dotted lines need attention, dashed ones stop: not by colour alone.
fn curve(path: &Path<'_>, from_x: usize, from_y: usize, to_x: usize, to_y: usize) -> Markup {
    let tone = of_edge(path.edge);
    let middle = usize::midpoint(from_x, to_x);
    let width = 2 + path.edge.endpoints.ready.min(6) / 2;
    let dashes = match tone {
        Tone::Ok => None,
        Tone::Warn => Some("2 6"),
        Tone::Bad => Some("7 5"),
    };
    html! {
        path .edge .(tone.class()) d={ "M" (from_x) " " (from_y) " C" (middle) " " (from_y) " " (middle) " " (to_y) " " (to_x) " " (to_y) } stroke-width=(width) stroke-dasharray=[dashes] {}
    }
}

fn label(
    query: &Query,
    selected: Selected,
    path: &Path<'_>,
    text: &str,
    x: usize,
    anchor: &str,
) -> Markup {
    let whose = match &selected {
        Selected::Export(service, member) => format!("{member} exports {service}: {text}"),
        Selected::Import(service, member) => format!("{member} imports {service}: {text}"),
        _ => text.to_owned(),
    };
    let id = format!("e-{}", selected.text());
    html! {
        a .lab .(of_edge(path.edge).class()) id=(id) href=(query.select(selected).href()) aria-label=(whose) {
            text x=(x) y=(path.row.saturating_sub(4)) text-anchor=(anchor) { title { (whose) } (fitting(text, LABEL)) }
        }
    }
}

fn service_box(query: &Query, service: &ServiceView, place: Place) -> Markup {
    let (tone, own_name) = (of_service(service), name(service));
    let selected = Selected::Service(own_name.clone());
    let class = if query.selected.as_ref() == Some(&selected) { "node sel" } else { "node" };
    let trouble = service.findings().next().map(|finding| cause(finding.cause));
    let (left, middle) = (LEFT[1], place.top + place.height / 2);
    let top = if trouble.is_some() { middle - 10 } else { middle };
    html! {
        a .(class) .(tone.class()) id={ "s-" (own_name) } href=(query.select(selected).href()) {
            title { (service.verdict) }
            rect x=(left) y=(place.top) width=(SERVICE) height=(place.height) rx="10" {}
            text .name x=(left + 16) y=(top - 4) { (fitting(&own_name.to_string(), FITS)) }
            text .sub x=(left + 16) y=(top + 15) { (fitting(&reached_by(service), FITS + 8)) }
            @if let Some(trouble) = trouble {
                text .sub .(tone.class()) x=(left + 16) y=(top + 32) { (fitting(&trouble, FITS + 6)) }
            }
        }
    }
}

/// Its ports, as many as fit.
fn reached_by(service: &ServiceView) -> String {
    let headless = service.headless.then(|| "headless".to_owned());
    let ports = (!service.ports.is_empty()).then(|| named(&service.ports, PORTS, ", "));
    let known: Vec<_> = headless.into_iter().chain(ports).collect();
    if known.is_empty() { "no port in force".to_owned() } else { known.join(" · ") }
}

/// A member of a column, with the number of Services that it exports or imports there.
fn member_box(
    view: &View,
    query: &Query,
    (member, place): (&str, Place),
    left: usize,
    services: usize,
) -> Markup {
    let verb = if left == LEFT[0] { "exports" } else { "imports" };
    let known = view.members.iter().find(|known| known.name == member);
    let (tone, state) = known.map_or((Tone::Bad, "Unknown"), |it| (of_member(it), it.state));
    let note = match state {
        "Joined" => format!("{verb} {services}"),
        state => format!("{state} · {verb} {services}"),
    };
    let selected = Selected::Member(member.to_owned());
    let class = if query.selected.as_ref() == Some(&selected) { "node sel" } else { "node" };
    let middle = place.top + place.height / 2;
    let side = if left == LEFT[0] { "x" } else { "i" };
    html! {
        a .(class) .(tone.class()) id={ (side) "-" (member) } href=(query.select(selected).href()) {
            rect x=(left) y=(place.top) width=(MEMBER) height=(place.height) rx="10" {}
            text .name x=(left + 16) y=(middle - 6) { (fitting(member, FITS - 10)) }
            text .sub x=(left + 16) y=(middle + 16) { (note) }
            circle .dot .(tone.class()) cx=(left + MEMBER - 20) cy=(middle) r="5" {}
        }
    }
}

fn fitting(text: &str, fits: usize) -> String {
    match text.char_indices().nth(fits) {
        Some((end, _)) => text[..end].to_owned() + "…",
        None => text.to_owned(),
    }
}
