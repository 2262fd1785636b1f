//! Services by members, for fleets that are too large for a map: a page of it at a time, grouped by namespace.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::words::{Tone, cause, endpoints, name, of_edge, of_service};
use crate::map::query::{Query, Selected};
use crate::view::{Edge, ServiceView, View};

/// Rows of a page.
const ROWS: usize = 50;

/// One page of the matrix.
pub(super) fn matrix(view: &View, query: &Query, services: &[&ServiceView]) -> Markup {
    let pages = services.len().div_ceil(ROWS);
    let page = query.page.min(pages.saturating_sub(1));
    let rows: Vec<_> = services.iter().skip(page * ROWS).take(ROWS).copied().collect();
    let mut groups = BTreeMap::<&str, Vec<&ServiceView>>::new();
    for service in &rows {
        groups.entry(&service.namespace).or_default().push(service);
    }
    html! {
        (links(query, page, pages, services.len()))
        (namespaces(query, services))
        div .scroll tabindex="0" role="region" aria-label="Matrix of Services and members" {
            table #matrix {
                caption { "E exports, I imports, with the number of ready endpoints. " span .warn { "!" } " needs attention, " span .bad { "✕" } " stops." }
                thead {
                    tr {
                        th scope="col" { "Service" }
                        @for member in &view.members { th .member scope="col" { span { (member.name) } } }
                        th scope="col" { "State" }
                    }
                }
                @for (namespace, services) in &groups {
                    tbody {
                        tr .group { th scope="rowgroup" colspan=(view.members.len() + 2) { "namespace " (namespace) } }
                        @for service in services { (row(view, query, service)) }
                    }
                }
            }
        }
    }
}

fn links(query: &Query, page: usize, pages: usize, services: usize) -> Markup {
    let to = |page| Query { page, ..query.clone() }.href();
    html! {
        nav aria-label="Pages of the matrix" {
            span { (services) " Services, page " (page + 1) " of " (pages) }
            @if page > 0 { a href=(to(page - 1)) rel="prev" { "previous" } }
            @if page + 1 < pages { a href=(to(page + 1)) rel="next" { "next" } }
        }
    }
}

/// How many Services each namespace has, and how many of them have a problem.
fn namespaces(query: &Query, services: &[&ServiceView]) -> Markup {
    let mut counts = BTreeMap::<&str, (usize, usize)>::new();
    for service in services {
        let (all, problems) = counts.entry(&service.namespace).or_default();
        *all += 1;
        *problems += usize::from(service.findings().next().is_some());
    }
    let to = |name: &str| Query { namespace: name.to_owned(), page: 0, ..query.clone() }.href();
    html! {
        details .namespaces open[counts.len() > 1 && counts.len() <= 12] {
            summary { (counts.len()) " namespaces" }
            ul {
                @for (name, (all, problems)) in &counts {
                    li { a href=(to(name)) { (name) } " " (all) @if *problems > 0 { span .bad { " ✕ " (problems) } } }
                }
            }
        }
    }
}

fn row(view: &View, query: &Query, service: &ServiceView) -> Markup {
    let (own_name, tone) = (name(service), of_service(service));
    let selected = Selected::Service(own_name.clone());
    let is_selected = query.selected.as_ref() == Some(&selected);
    let (exporters, importers) = (by_member(&service.exporters), by_member(&service.importers));
    let state = service.findings().next().map(|finding| cause(finding.cause));
    html! {
        tr id={ "s-" (own_name) } .sel[is_selected] {
            th scope="row" { a href=(query.select(selected).href()) { (service.name) } }
            @for member in &view.members {
                td {
                    @if let Some(edge) = exporters.get(&*member.name) { (cell("E", edge)) }
                    @if let Some(edge) = importers.get(&*member.name) { (cell("I", edge)) }
                }
            }
            td .(tone.class()) { (state.unwrap_or_else(|| "works".to_owned())) }
        }
    }
}

fn by_member(edges: &[Edge]) -> BTreeMap<&str, &Edge> {
    edges.iter().map(|edge| (&*edge.member, edge)).collect()
}

fn cell(letter: &str, edge: &Edge) -> Markup {
    let tone = of_edge(edge);
    let sign = match tone {
        Tone::Ok => "",
        Tone::Warn => "!",
        Tone::Bad => "✕",
    };
    html! { span .c .(tone.class()) title=(endpoints(edge)) { (letter) (edge.endpoints.ready) (sign) } " " }
}
