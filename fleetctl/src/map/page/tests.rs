//! What the page means, not how it looks.

use std::sync::Arc;

use fleet_api::ObjectName;
use jiff::Timestamp;

use super::page;
use crate::cause::Cause;
use crate::map::frame::Frame;
use crate::map::moments::{Event, Events, Moment};
use crate::map::query::{Query, Selected, WhatIf};
use crate::map::shown::Shown;
use crate::reach::reached::Cell;
use crate::view::{
    Drained, Edge, Endpoints, Finding, MemberView, ReachCounts, ServiceView, Share, Unreached, View,
};
use crate::what_if::Answer;

fn member(name: &str, state: &'static str) -> MemberView {
    MemberView {
        name: name.to_owned(),
        state,
        heartbeat_seconds: Some(7),
        reaches_hub: Some(true),
        ..MemberView::default()
    }
}

fn edge(member: &str, ready: usize) -> Edge {
    let endpoints = Endpoints { ready, draining: 0 };
    Edge { member: member.to_owned(), endpoints, ..Edge::default() }
}

fn share(member: &str, percent: usize) -> Share {
    Share { member: member.to_owned(), ready: 1, last_resort: 0, percent }
}

fn service(namespace: &str, name: &str) -> ServiceView {
    let shares = vec![share("east", 60), share("west", 40)];
    ServiceView {
        ports: vec!["80/TCP http".to_owned()],
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        exporters: vec![edge("east", 3)],
        importers: vec![Edge { shares, lag_p99_millis: Some(21), ..edge("west", 3) }],
        verdict: format!("{namespace}/{name} works from east to west"),
        ..ServiceView::default()
    }
}

fn stopped() -> ServiceView {
    let finding = Finding {
        cause: Cause::NoEndpoints,
        says: "no endpoint <is> ready".to_owned(),
        advice: Some("kubectl get pods && echo \"<done>\"".to_owned()),
    };
    let exporters = vec![Edge { finding: Some(finding), ..edge("east", 0) }];
    ServiceView { exporters, ..service("pay", "api") }
}

fn shown(services: Vec<ServiceView>) -> Shown {
    let drained = Some(Drained { state: "Draining", percent: 40 });
    let members =
        vec![member("east", "Joined"), MemberView { drained, ..member("west", "Joined") }];
    let at = Timestamp::from_second(1_780_000_000).unwrap();
    let services = services.into_iter().map(Arc::new).collect();
    let view = View { at, members, services, ..View::default() };
    let frame = Frame { at, view: Arc::new(view) };
    let (times, moments) = ((at, at), Arc::default());
    Shown { frame, number: 4, first: 2, last: 4, times, moments, is_replay: false, what_if: None }
}

fn html(shown: &Shown, query: &Query) -> String {
    page(shown, query).into_string()
}

#[track_caller]
fn has(html: &str, parts: &[&str]) {
    for part in parts {
        assert!(html.contains(part), "{part:?} is not in: {html}");
    }
}

#[track_caller]
fn lacks(html: &str, parts: &[&str]) {
    for part in parts {
        assert!(!html.contains(part), "{part:?} is in: {html}");
    }
}

#[test]
fn the_map_has_all_parts_and_their_numbers() {
    let page = html(&shown(vec![service("shop", "web"), stopped()]), &Query::default());
    has(&page, &["2 members · 2 Services · 1 needs attention", "heartbeat 7s ago", "3 ready"]);
    has(&page, &["east 60 % own 40 %", "p99 21 ms", "no endpoints", "Draining 40 %"]);
    has(&page, &["80/TCP http", "exports 2", "imports 2"]);
    has(&page, &["id=\"s-shop/web\"", "id=\"x-east\"", "id=\"i-west\"", "EXPORT", "IMPORT"]);
    has(&page, &["data-live=\"1\"", "<html lang=\"en\">"]);
}

#[test]
fn colour_is_never_the_only_sign() {
    let page = html(&shown(vec![stopped()]), &Query::default());
    has(&page, &["class=\"edge bad\"", "stroke-dasharray=\"7 5\"", ">no endpoints<"]);
}

#[test]
fn what_others_wrote_is_text() {
    let mut hostile = service("shop", "web");
    hostile.verdict = "<script>alert(1)</script>".to_owned();
    hostile.exporters[0].member = "\"><img src=x onerror=alert(1)>".to_owned();
    let query = Query {
        search: "</title><script>".to_owned(),
        selected: Some(Selected::Member("<b>x</b>".to_owned())),
        ..Query::default()
    };
    for query in [
        Query::default(),
        query,
        Query::default().select(Selected::Service(ObjectName::new("shop", "web"))),
    ] {
        let page = html(&shown(vec![hostile.clone()]), &query);
        lacks(&page, &["<script>", "<img", "<b>x"]);
    }
}

/// What is copied goes into a shell.
#[test]
fn no_name_adds_a_command_to_what_is_copied() {
    let evil = "a; id $(id)";
    let mut hostile = service(evil, "web");
    hostile.exporters[0].member = evil.to_owned();
    let mut shown = shown(vec![hostile]);
    let view = Arc::make_mut(&mut shown.frame.view);
    view.members.extend([member(evil, "Joined"), member("two\nlines", "Joined")]);
    let name = ObjectName::new(evil, "web");
    let of = |selected| html(&shown, &Query::default().select(selected));
    let explain = "data-copy=\"fleetctl explain service 'a; id $(id)/web'\"";
    has(&of(Selected::Service(name.clone())), &[explain]);
    has(&of(Selected::Export(name, evil.to_owned())), &[explain]);
    has(
        &of(Selected::Member(evil.to_owned())),
        &[
            "data-copy=\"fleetctl what-if lose 'a; id $(id)'\"",
            "data-copy=\"fleetctl what-if drain 'a; id $(id)'\"",
        ],
    );
    let lines = of(Selected::Member("two\nlines".to_owned()));
    has(&lines, &["<code>fleetctl what-if lose 'two\\nlines'</code>"]);
    lacks(&lines, &["data-copy"]);
}

#[test]
fn nothing_comes_from_elsewhere() {
    let page = html(&shown(vec![service("shop", "web")]), &Query::default());
    lacks(&page, &["http://", "https://", "//cdn", " style=", " onclick="]);
    let links: Vec<_> =
        page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let is_own =
        |link: &&&str| link.starts_with("./") || link.starts_with('#') || **link == "data:,";
    assert!(links.iter().all(|link| is_own(&link)), "{links:?}");
}

#[test]
fn the_panel_has_the_sentence_and_the_command() {
    let shown = shown(vec![service("shop", "web"), stopped()]);
    let api = ObjectName::new("pay", "api");
    let export = Query::default().select(Selected::Export(api.clone(), "east".to_owned()));
    has(
        &html(&shown, &export),
        &[
            "east exports pay/api",
            "no endpoint &lt;is&gt; ready",
            "data-copy=\"kubectl get pods &amp;&amp; echo &quot;&lt;done&gt;&quot;\"",
        ],
    );
    let web = ObjectName::new("shop", "web");
    let import = Query::default().select(Selected::Import(web.clone(), "west".to_owned()));
    has(&html(&shown, &import), &["west imports shop/web", "21 ms", "60 %", "Nothing stops here"]);
    let service = Query::default().select(Selected::Service(web));
    has(&html(&shown, &service), &["works from east to west", "fleetctl explain service shop/web"]);
    let member = Query::default().select(Selected::Member("west".to_owned()));
    has(&html(&shown, &member), &["Draining 40 %", "fleetctl what-if lose west"]);
    let other = Query::default().select(Selected::Member("mars".to_owned()));
    has(&html(&shown, &other), &["mars", "not there at this time"]);
}

/// The worst that explain knows of an import is a hop that fails: the line names it, and the panel has all of them.
#[test]
fn a_line_names_the_hop_that_fails() {
    let at = Timestamp::from_second(1_779_999_880).unwrap();
    let unreached = |member: &str, hop| Unreached {
        member: member.to_owned(),
        hop,
        since: at,
        detail: "10.1.0.7:80: <no> answer".to_owned(),
    };
    let finding = Finding {
        cause: Cause::NotReached,
        says: "no endpoint of north answers".to_owned(),
        advice: None,
    };
    let mut reached = service("shop", "web");
    reached.importers[0].finding = Some(finding);
    reached.importers[0].unreached =
        vec![unreached("north", "Route"), unreached("east", "Endpoint")];
    let mut shown = shown(vec![reached]);
    let view = Arc::make_mut(&mut shown.frame.view);
    let cell = |exporter: &str, reachable, unreachable| Cell {
        importer: "west".to_owned(),
        exporter: exporter.to_owned(),
        reachable,
        unreachable,
        unknown: 0,
        not_dialled: 0,
        names: false,
        written_seconds: Some(3),
    };
    view.reach = vec![cell("east", 3, 0), cell("north", 0, 2)];
    view.members[1].reach = Some(ReachCounts { reachable: 3, unreachable: 2, other: 0 });
    let page = html(&shown, &Query::default());
    has(&page, &["Route to north fails +1", "class=\"lab bad\"", "1 needs attention"]);
    has(&page, &["does not reach 2 of 5 imports", "<li class=\"m warn\" id=\"m-west\">"]);
    let web = ObjectName::new("shop", "web");
    let import = Query::default().select(Selected::Import(web, "west".to_owned()));
    let parts = ["<b>Route</b>, since 2m: 10.1.0.7:80: &lt;no&gt; answer", "<b>Endpoint</b>"];
    has(&html(&shown, &import), &parts);
    let member = Query::default().select(Selected::Member("west".to_owned()));
    has(&html(&shown, &member), &["<th scope=\"row\">north</th>", "<td class=\"bad\">2</td>"]);
}

#[test]
fn times_of_changes_are_drawn() {
    let mut changed = service("shop", "web");
    changed.importers[0].lags_millis = vec![10, 40, 20];
    let web = ObjectName::new("shop", "web");
    let import = Query::default().select(Selected::Import(web, "west".to_owned()));
    let page = html(&shown(vec![changed]), &import);
    has(&page, &["The last 3 changes took 10 to 40 ms", "points=\"0,33 120,3 240,23\""]);
}

#[test]
fn search_namespace_and_problems_choose_services() {
    let shown = shown(vec![service("shop", "web"), service("team", "db"), stopped()]);
    let of = |query: Query| -> Vec<&'static str> {
        let page = html(&shown, &query);
        let all = ["shop/web", "team/db", "pay/api"];
        all.into_iter().filter(|name| page.contains(&format!("id=\"s-{name}\""))).collect()
    };
    assert_eq!(of(Query::default()).len(), 3);
    assert_eq!(of(Query { search: "WEB".to_owned(), ..Query::default() }), ["shop/web"]);
    assert_eq!(of(Query { search: "east".to_owned(), ..Query::default() }).len(), 3);
    assert_eq!(of(Query { namespace: "team".to_owned(), ..Query::default() }), ["team/db"]);
    assert_eq!(of(Query { problems: true, ..Query::default() }), ["pay/api"]);
    let none = Query { search: "nothing".to_owned(), ..Query::default() };
    has(&html(&shown, &none), &["No Service matches"]);
}

#[test]
fn a_large_fleet_is_a_matrix_of_pages() {
    let services: Vec<_> =
        (0..120).map(|at| service(["a", "b"][at % 2], &format!("s{at:03}"))).collect();
    let shown = shown(services);
    let first = html(&shown, &Query::default());
    has(
        &first,
        &["id=\"matrix\"", "120 Services, page 1 of 3", "rel=\"next\"", "namespace a", "E3"],
    );
    lacks(&first, &["id=\"map\"", "rel=\"prev\""]);
    assert_eq!(first.matches("id=\"s-").count(), 50);
    let last = html(&shown, &Query { page: 99, ..Query::default() });
    has(&last, &["page 3 of 3", "rel=\"prev\""]);
    assert_eq!(last.matches("id=\"s-").count(), 20);
    let fewer = Query { search: "s00".to_owned(), ..Query::default() };
    has(&html(&shown, &fewer), &["id=\"map\""]);
}

#[test]
fn few_services_of_many_members_are_a_matrix() {
    let all: Vec<_> = (0..60).map(|at| edge(&format!("m{at:02}"), 1)).collect();
    let with = |importers: usize| -> Vec<_> {
        let importers = all[..importers].to_vec();
        let one =
            |at| ServiceView { importers: importers.clone(), ..service("a", &format!("s{at}")) };
        (0..40).map(one).collect()
    };
    has(&html(&shown(with(49)), &Query::default()), &["id=\"map\""]);
    let page = html(&shown(with(50)), &Query::default());
    has(&page, &["id=\"matrix\""]);
    lacks(&page, &["id=\"map\""]);
}

#[test]
fn all_moments_can_be_reached_without_a_script() {
    let mut shown = shown(vec![service("shop", "web")]);
    shown.number = 3;
    let page = html(&shown, &Query { at: Some(3), ..Query::default() });
    has(
        &page,
        &["min=\"2\" max=\"4\" value=\"3\"", "href=\"./?at=2\"", "href=\"./?at=4\"", "now · live"],
    );
    lacks(&page, &["data-live"]);
    shown.is_replay = true;
    has(&html(&shown, &Query::default()), &["end of the recording"]);
}

#[test]
fn links_keep_the_rest_of_the_state() {
    let query = Query {
        search: "we".to_owned(),
        what_if: Some(WhatIf::Lose("east".to_owned())),
        theme: Some("dark"),
        ..Query::default()
    };
    let page = html(&shown(vec![service("shop", "web")]), &query);
    has(
        &page,
        &[
            "data-theme=\"dark\"",
            "href=\"./?q=we&amp;sel=service:shop/web&amp;whatif=lose:east&amp;theme=dark\"",
        ],
    );
    has(&page, &["<option value=\"lose:east\" selected>"]);
}

#[test]
fn the_result_of_an_action_is_a_sentence() {
    let mut shown = shown(vec![service("shop", "web")]);
    let answer = Answer {
        action: "lose east".to_owned(),
        changes: vec![],
        traffic: vec![],
        without_endpoints: vec!["shop/web".to_owned()],
        unread: vec!["west".to_owned()],
    };
    shown.what_if = Some(Ok(answer));
    let page = html(&shown, &Query::default());
    has(
        &page,
        &[
            "after <b>lose east</b>",
            "Left without endpoints: shop/web",
            "Not read as a whole",
            "fleetctl what-if lose east",
        ],
    );
    shown.what_if = Some(Err("there is no member".to_owned()));
    has(&html(&shown, &Query::default()), &["What if: there is no member"]);
}

#[test]
fn an_empty_fleet_has_an_empty_page() {
    let page = html(&shown(vec![]), &Query::default());
    has(&page, &["No member exports or imports a Service yet"]);
}

fn moment(number: usize, first: Event, others: usize) -> Moment {
    let at = Timestamp::from_second(1_780_000_000).unwrap();
    Moment { number, at, events: Events { first, others } }
}

#[test]
fn moments_are_marks_and_links() {
    let web = ObjectName::new("shop", "web");
    let moments = [
        moment(2, Event::New(web.clone()), 0),
        moment(3, Event::Stops(web.clone(), Cause::NoEndpoints), 2),
        moment(4, Event::Works(web), 0),
    ];
    let shown = Shown { number: 3, moments: moments.into(), ..shown(vec![service("shop", "web")]) };
    let query = Query { search: "web".to_owned(), ..Query::default() };
    let page = html(&shown, &query);
    has(&page, &["shop/web is new", "shop/web: no endpoints, and 2 more", "shop/web works"]);
    has(
        &page,
        &["id=\"marks\"", "class=\"bad\" x=\"496\"", "href=\"./?q=web&amp;at=2\" aria-label"],
    );
    has(&page, &["id=\"change-before\" href=\"./?q=web&amp;at=2\""]);
    has(&page, &["id=\"change-after\" href=\"./?q=web&amp;at=4\""]);
    let none = Shown { moments: Arc::default(), ..shown };
    lacks(&html(&none, &query), &["id=\"marks\"", "change-before", "change-after"]);
}

/// Each is a stop of Tab.
#[test]
fn marks_are_few_and_the_worst_of_their_place() {
    let object = || Event::Object(None, "Lease", ObjectName::new("a", "b"));
    let stops = Event::Stops(ObjectName::new("shop", "web"), Cause::NoEndpoints);
    let event = |number| if number == 5001 { stops.clone() } else { object() };
    let moments: Vec<_> = (1..20_000).map(|number| moment(number, event(number), 0)).collect();
    let (first, last, number) = (0, 19_999, 19_999);
    let shown = Shown { first, last, number, moments: moments.into(), ..shown(Vec::new()) };
    let page = html(&shown, &Query::default());
    let marks = page.matches("<rect").count();
    assert!((2..=24).contains(&marks), "{marks} marks");
    has(&page, &["at=5001"]);
}
