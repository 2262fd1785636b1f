//! The page as HTML: the same for those with scripts and those without. Pure.

mod choose;
mod edge;
mod header;
mod matrix;
mod panel;
mod strip;
mod svg;
mod time;
mod words;

use maud::{DOCTYPE, Markup, html};

use super::query::Query;
use super::shown::Shown;
use crate::view::ServiceView;
use choose::{chosen, namespaces};

/// Number of Services from which a matrix takes the place of the map.
const MAP: usize = 50;

/// Number of lines from which it does so too: a map with more is large, and shows nothing.
const LINES: usize = 2000;

/// The page in the state that its address asks for.
pub fn page(shown: &Shown, query: &Query) -> Markup {
    let view = &shown.frame.view;
    let services = chosen(view, query);
    html! {
        (DOCTYPE)
        html lang="en" data-theme=[query.theme] {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content=(query.theme.unwrap_or("light dark"));
                title { "Fleet" }
                link rel="stylesheet" href="./style.css";
                link rel="icon" href="data:,";
                script src="./script.js" defer {}
            }
            body data-live=[shown.is_live().then_some("1")] data-frame=(shown.number) {
                a .skip href="#services" { "Skip to the Services" }
                (header::header(shown, query, &namespaces(view)))
                main {
                    (strip::what_if(shown))
                    (strip::unread(view))
                    (strip::strip(view, query))
                    div .content {
                        (content(shown, query, &services))
                        (panel::panel(view, query))
                    }
                }
                (time::footer(shown, query))
                div #notice role="status" .quiet {}
            }
        }
    }
}

fn content(shown: &Shown, query: &Query, services: &[&ServiceView]) -> Markup {
    let view = &shown.frame.view;
    html! {
        section #services tabindex="-1" aria-label="Services of the fleet" {
            @if services.is_empty() {
                p .empty {
                    @if view.services.is_empty() {
                        "No member exports or imports a Service yet. A ServiceExport in a member exports one: "
                        code { "kubectl -n NAMESPACE apply -f -" }
                    } @else { "No Service matches." }
                }
            } @else if is_large(services) {
                (matrix::matrix(view, query, services))
            } @else {
                (svg::map(view, query, services))
            }
        }
    }
}

fn is_large(services: &[&ServiceView]) -> bool {
    let lines = services.iter().map(|service| service.exporters.len() + service.importers.len());
    services.len() > MAP || lines.sum::<usize>() > LINES
}

#[cfg(test)]
mod tests;
