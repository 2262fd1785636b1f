//! The foot of the page: which moment is shown, and how to show another one.

use maud::{Markup, html};

use crate::map::query::Query;
use crate::map::shown::Shown;

/// The foot.
pub(super) fn footer(shown: &Shown, query: &Query) -> Markup {
    let to = |at: Option<usize>| Query { at, ..query.clone() }.href();
    let kept = query.fields().into_iter().filter(|(name, _)| *name != "at");
    let newest = if shown.is_replay { "end of the recording" } else { "now · live" };
    html! {
        footer {
            form #time method="get" action="./" {
                @for (name, value) in kept { input type="hidden" name=(name) value=(value); }
                label { "Time "
                    input #slider type="range" name="at" min=(shown.first) max=(shown.last) value=(shown.number) aria-valuetext=(shown.frame.at);
                }
                button type="submit" { "Show" }
            }
            @if shown.number > shown.first { a #earlier href=(to(Some(shown.number - 1))) { "earlier" } }
            @if shown.number < shown.last { a #later href=(to(Some(shown.number + 1))) { "later" } }
            span #at { time datetime=(shown.frame.at) { (shown.frame.at.strftime("%Y-%m-%d %H:%M:%SZ")) } }
            @if shown.number < shown.last { a #now href=(to(None)) { (newest) } } @else { span { (newest) } }
            noscript { a href=(query.href()) { "Reload" } }
        }
    }
}
