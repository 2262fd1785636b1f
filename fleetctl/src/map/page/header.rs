//! The head of the page: the state of the fleet, and what to show of it.

use maud::{Markup, html};

use crate::map::query::{Query, WhatIf};
use crate::map::shown::Shown;
use crate::view::View;

/// The head.
pub(super) fn header(shown: &Shown, query: &Query, namespaces: &[&str]) -> Markup {
    let view = &shown.frame.view;
    html! {
        header {
            h1 { "Fleet" }
            p .pill { (summary(view)) }
            form #choose method="get" action="./" role="search" {
                label { span .unseen { "Search" } input #search type="search" name="q" value=(query.search) placeholder="Service or member" autocomplete="off"; }
                label { "Namespace "
                    select name="ns" {
                        option value="" { "all" }
                        @for name in namespaces {
                            option value=(name) selected[*name == query.namespace] { (name) }
                        }
                    }
                }
                label { "What if "
                    select name="whatif" {
                        option value="" { "nothing" }
                        optgroup label="lose a cluster" { (options(view, query, WhatIf::Lose, "lose")) }
                        optgroup label="drain a cluster" { (options(view, query, WhatIf::Drain, "drain")) }
                    }
                }
                label .check { input type="checkbox" name="problems" value="1" checked[query.problems]; " problems only" }
                @for (name, value) in kept(query) { input type="hidden" name=(name) value=(value); }
                button type="submit" { "Show" }
            }
            (theme(query))
        }
    }
}

fn options(view: &View, query: &Query, of: fn(String) -> WhatIf, verb: &str) -> Markup {
    html! {
        @for member in &view.members {
            @let action = of(member.name.clone());
            option value=(action.text()) selected[query.what_if.as_ref() == Some(&action)] { (verb) " " (member.name) }
        }
    }
}

/// Fields that the form keeps as they are.
fn kept(query: &Query) -> Vec<(&'static str, String)> {
    let is_kept = |(name, _): &(&str, String)| ["sel", "at", "theme"].contains(name);
    query.fields().into_iter().filter(is_kept).collect()
}

fn theme(query: &Query) -> Markup {
    let (text, next) = match query.theme {
        None => ("theme: auto", Some("dark")),
        Some("dark") => ("theme: dark", Some("light")),
        Some(_) => ("theme: light", None),
    };
    let next = Query { theme: next, ..query.clone() };
    html! { a .pill #theme href=(next.href()) { (text) } }
}

fn summary(view: &View) -> String {
    let problems = view.services.iter().filter(|it| it.findings().next().is_some()).count();
    let state = if view.unread.is_empty() { "hub read" } else { "hub read in part" };
    let attention = match problems {
        0 => "no problem".to_owned(),
        1 => "1 needs attention".to_owned(),
        problems => format!("{problems} need attention"),
    };
    format!(
        "{state} · {} members · {} Services · {attention}",
        view.members.len(),
        view.services.len()
    )
}
