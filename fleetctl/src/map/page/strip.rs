//! Members, and what the page is to be read with: what could not be read, and what an action would change.

use maud::{Markup, html};

use super::words::{ago, of_member};
use crate::map::query::{Query, Selected};
use crate::map::shown::Shown;
use crate::named::named;
use crate::view::{MemberView, View};

/// How many members a strip has before it folds.
const OPEN: usize = 12;
/// How many names a sentence has.
const NAMED: usize = 8;

/// One card for each member.
pub(super) fn strip(view: &View, query: &Query) -> Markup {
    let cards = html! {
        ul .strip {
            @for member in &view.members { (card(member, query)) }
        }
    };
    html! {
        @if view.members.len() > OPEN {
            details .members { summary { (view.members.len()) " members" (troubled(view)) } (cards) }
        } @else { (cards) }
    }
}

fn troubled(view: &View) -> String {
    let is_troubled = |member: &&MemberView| of_member(member) != super::words::Tone::Ok;
    let names: Vec<_> =
        view.members.iter().filter(is_troubled).map(|it| it.name.as_str()).collect();
    if names.is_empty() {
        String::new()
    } else {
        format!("; with a problem: {}", named(&names, NAMED, ", "))
    }
}

fn card(member: &MemberView, query: &Query) -> Markup {
    let state = match &member.drained {
        Some(drained) => format!("{} · {} {} %", member.state, drained.state, drained.percent),
        None => member.state.to_owned(),
    };
    let selected = Selected::Member(member.name.clone());
    let is_selected = query.selected.as_ref() == Some(&selected);
    html! {
        li .m .(of_member(member).class()) id={ "m-" (member.name) } {
            a href=(query.select(selected).href()) aria-current=[is_selected.then_some("true")] {
                b { (member.name) } span { (state) }
            }
            small { (facts(member).join(" · ")) }
            @if let Some(drained) = &member.drained {
                progress max="100" value=(drained.percent) aria-label={ (member.name) " " (drained.state) } {}
            }
        }
    }
}

/// What is known of a member.
pub(super) fn facts(member: &MemberView) -> Vec<String> {
    let mut facts = Vec::new();
    facts.push(match member.heartbeat_seconds {
        Some(seconds) => format!("heartbeat {}", ago(seconds)),
        None => "no heartbeat".to_owned(),
    });
    facts.extend(member.reaches_hub.map(|reaches| {
        if reaches { "reaches the hub" } else { "does not reach the hub" }.to_owned()
    }));
    facts.extend(member.agent_version.as_ref().map(|version| format!("agent {version}")));
    facts.extend(member.credential.map(|state| format!("credential {state}")));
    facts.extend(member.token_expires.as_ref().map(|at| format!("token until {at}")));
    facts.extend((member.lag > 0).then(|| format!("{} slices to be written", member.lag)));
    facts.extend(member.reach.map(|reach| {
        let all = reach.reachable + reach.unreachable + reach.other;
        match reach.unreachable {
            0 => format!("reaches {} of {all} imports", reach.reachable),
            failing => format!("does not reach {failing} of {all} imports"),
        }
    }));
    facts.extend(
        member
            .unseen
            .as_ref()
            .map(|reason| format!("not read: {reason}; tried again every few seconds")),
    );
    facts
}

/// What could not be read of the fleet.
pub(super) fn unread(view: &View) -> Markup {
    html! {
        @if !view.unread.is_empty() {
            ul .banner.warn {
                @for hop in &view.unread { li { (hop.cluster) ": " (hop.says) } }
            }
        }
    }
}

/// What an action would change.
pub(super) fn what_if(shown: &Shown) -> Markup {
    html! {
        @match &shown.what_if {
            None => {}
            Some(Err(reason)) => p #what-if .banner.bad { "What if: " (reason) }
            Some(Ok(answer)) => {
                div #what-if .banner .(if answer.without_endpoints.is_empty() { "warn" } else { "bad" }) {
                    p {
                        "This is the fleet after " b { (answer.action) } ": "
                        (answer.changes.len()) " objects change. "
                        @if answer.without_endpoints.is_empty() { (answer.none_without()) }
                        @else { "Left without endpoints: " (named(&answer.without_endpoints, NAMED, ", ")) "." }
                    }
                    @if !answer.unread.is_empty() {
                        p { "Not read as a whole, so that not all is known of what changes there: " (named(&answer.unread, NAMED, ", ")) }
                    }
                    p { "The same as text: " code { "fleetctl what-if " (answer.action) } }
                }
            }
        }
    }
}
