//! The foot of the page: which moment is shown, and how to show another one.

use maud::{Markup, html};

use super::words::cause;
use crate::map::moments::{Event, Events, Moment};
use crate::map::query::Query;
use crate::map::shown::Shown;

/// Marks beside the slider: each can be reached by Tab.
const MARKS: usize = 24;
/// Width of their drawing, and of a mark.
const WIDTH: usize = 1000;
const MARK: usize = 8;

/// The foot.
pub(super) fn footer(shown: &Shown, query: &Query) -> Markup {
    let to = |at: Option<usize>| Query { at, ..query.clone() }.href();
    let kept = query.fields().into_iter().filter(|(name, _)| *name != "at");
    let newest = if shown.is_replay { "end of the recording" } else { "now · live" };
    let before = shown.moments.iter().rfind(|moment| moment.number < shown.number);
    let after = shown.moments.iter().find(|moment| moment.number > shown.number);
    html! {
        footer {
            form #time method="get" action="./" {
                @for (name, value) in kept { input type="hidden" name=(name) value=(value); }
                label for="slider" { "Time" }
                div .track {
                    input #slider type="range" name="at" min=(shown.first) max=(shown.last) value=(shown.number) aria-valuetext=(shown.frame.at);
                    (marks(shown, query))
                }
                button type="submit" { "Show" }
            }
            @if let Some(moment) = before { a #change-before href=(to(Some(moment.number))) title=(told(moment)) { "change before" } }
            @if let Some(moment) = after { a #change-after href=(to(Some(moment.number))) title=(told(moment)) { "next change" } }
            @if shown.number > shown.first { a #earlier href=(to(Some(shown.number - 1))) { "earlier" } }
            @if shown.number < shown.last { a #later href=(to(Some(shown.number + 1))) { "later" } }
            span #at { time datetime=(shown.frame.at) { (shown.frame.at.strftime("%Y-%m-%d %H:%M:%SZ")) } }
            @if shown.number < shown.last { a #now href=(to(None)) { (newest) } } @else { span { (newest) } }
            noscript { a href=(query.href()) { "Reload" } }
        }
    }
}

/// Moments at which something happened, where the slider has them. Of those that lie too close together, the worst.
fn marks(shown: &Shown, query: &Query) -> Markup {
    let range = shown.last.saturating_sub(shown.first).max(1);
    let place = |moment: &Moment, of: usize| moment.number.saturating_sub(shown.first) * of / range;
    let mut marks: Vec<(usize, &Moment)> = Vec::new();
    for moment in shown.moments.iter() {
        let slot = place(moment, MARKS - 1);
        match marks.last_mut() {
            Some((last, worst)) if *last == slot => {
                if moment.events.first < worst.events.first {
                    *worst = moment;
                }
            }
            _ => marks.push((slot, moment)),
        }
    }
    html! {
        @if !marks.is_empty() {
            svg #marks viewBox={ "0 0 " (WIDTH) " 10" } preserveAspectRatio="none" role="group" aria-label="Moments at which something happened" {
                @for (_, moment) in &marks {
                    a href=(Query { at: Some(moment.number), ..query.clone() }.href()) aria-label=(told(moment)) {
                        title { (told(moment)) }
                        rect .(class(&moment.events)) x=(place(moment, WIDTH - MARK)) y="0" width=(MARK) height="10" {}
                    }
                }
            }
        }
    }
}

fn class(events: &Events) -> &'static str {
    match events.first {
        Event::Stops(..) | Event::Member(_, "Silent") => "bad",
        _ => "change",
    }
}

/// What happened, in one line.
fn told(moment: &Moment) -> String {
    let Events { first, others } = &moment.events;
    let first = match first {
        Event::Stops(service, why) => format!("{service}: {}", cause(*why)),
        Event::Works(service) => format!("{service} works"),
        Event::New(service) => format!("{service} is new"),
        Event::Gone(service) => format!("{service} is gone"),
        Event::Member(member, state) => format!("{member}: {state}"),
        Event::MemberGone(member) => format!("{member} is gone"),
        Event::Object(cluster, kind, name) => {
            format!("{kind} {name} of {}", cluster.as_deref().unwrap_or("the hub"))
        }
    };
    let others = if *others > 0 { format!(", and {others} more") } else { String::new() };
    format!("{}: {first}{others}", moment.at.strftime("%H:%M:%SZ"))
}
