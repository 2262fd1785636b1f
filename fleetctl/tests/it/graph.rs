//! Pictures of fleets, byte by byte.

use std::path::Path;
use std::sync::Arc;

use fleetctl::cause::Cause;
use fleetctl::graph::{Drawing, draw};
use fleetctl::output::{Format, data};
use fleetctl::view::{Edge, Endpoints, Finding, MemberView, ServiceView, View};
use jiff::Timestamp;

fn member(name: &str, state: &'static str) -> MemberView {
    MemberView {
        name: name.to_owned(),
        state,
        heartbeat_seconds: Some(12),
        reaches_hub: Some(state == "Joined"),
        agent_version: Some("0.2.0".to_owned()),
        credential: Some("renewed"),
        token_expires: Some("2026-11-26T00:00:00Z".to_owned()),
        lag: usize::from(state == "Silent"),
        ..MemberView::default()
    }
}

/// The time of the fleet, and so many seconds more.
fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_780_000_000 + seconds).unwrap()
}

fn of(members: Vec<MemberView>, services: Vec<ServiceView>) -> View {
    let services = services.into_iter().map(Arc::new).collect();
    View { at: at(0), members, services, ..View::default() }
}

fn edge(member: &str, ready: usize, draining: usize, finding: Option<Finding>) -> Edge {
    let endpoints = Endpoints { ready, draining };
    Edge {
        member: member.to_owned(),
        endpoints,
        changed: Some(at(-3600)),
        finding,
        ..Edge::default()
    }
}

fn finding(cause: Cause, says: &str) -> Finding {
    let advice = format!("kubectl --context east get \"{says}\" && echo <done>");
    Finding { cause, says: says.to_owned(), advice: Some(advice) }
}

fn service(namespace: &str, name: &str, exporters: Vec<Edge>, importers: Vec<Edge>) -> ServiceView {
    let verdict = format!("{namespace}/{name} works from east to west");
    let (namespace, name) = (namespace.to_owned(), name.to_owned());
    ServiceView { namespace, name, exporters, importers, verdict, ..ServiceView::default() }
}

fn fleet() -> View {
    let silent = || Some(finding(Cause::MemberSilent, "its agent has never sent a heartbeat"));
    let services = vec![
        service("shop", "api", vec![edge("east", 0, 2, None)], vec![edge("west", 0, 2, None)]),
        service(
            "shop",
            "web",
            vec![edge("east", 3, 1, None), edge("north", 1, 0, silent())],
            vec![edge("west", 4, 1, None)],
        ),
        ServiceView {
            finding: Some(finding(Cause::NotImported, "no member imports it")),
            ..service("team", "db", vec![edge("west", 1, 0, None)], vec![])
        },
    ];
    let members = vec![
        member("east", "Joined"),
        member("north", "Silent"),
        member("south", "Leaving"),
        member("west", "Joined"),
    ];
    of(members, services)
}

const PICTURES: [(Format, &str); 3] =
    [(Format::Dot, "dot"), (Format::Mermaid, "mmd"), (Format::Svg, "svg")];

/// `WRITE_GOLDEN=1 cargo test --test it` writes the files.
fn is_as_before(name: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden").join(name);
    if std::env::var_os("WRITE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "{} is another picture:\n{wanted}", path.display());
}

#[test]
fn a_small_fleet_in_every_form() {
    let fleet = fleet();
    for (format, end) in PICTURES {
        let picture = draw(format, &Drawing::of(&fleet, 50)).unwrap();
        is_as_before(&format!("fleet.{end}"), &picture);
    }
    is_as_before("fleet.json", &data(Format::Json, &fleet).unwrap().unwrap());
}

#[test]
fn a_fleet_with_too_many_services_is_drawn_by_namespace() {
    let drawing = Drawing::of(&fleet(), 2);
    let labels: Vec<_> = drawing.rows.iter().map(|row| (&*row.label, &*row.note)).collect();
    let shop = ("namespace shop", "2 Services, 1 with a problem");
    assert_eq!(labels, [shop, ("namespace team", "NotImported")]);
    assert_eq!(drawing.exports[0].label, "3 ready, 3 draining");
    assert_eq!(drawing.exports[1].label, "1 ready, MemberSilent");
    assert_eq!(drawing.imports[0].label, "4 ready, 3 draining");
    assert_eq!(drawing.imports.len(), 1);
    let drawing = Drawing::of(&fleet(), 1);
    let labels: Vec<_> = drawing.rows.iter().map(|row| (&*row.label, &*row.note)).collect();
    assert_eq!(labels, [("2 other namespaces", "3 Services, 2 with a problem")]);
}

#[test]
fn an_empty_fleet_is_a_picture() {
    let nothing = View::default();
    for (format, _) in PICTURES {
        let drawing = Drawing::of(&nothing, 50);
        assert_eq!(drawing, Drawing::default());
        assert!(draw(format, &drawing).is_some_and(|picture| picture.ends_with('\n')));
    }
}

/// Text of the wire, as a member can write it, that means something in one of the forms.
const HOSTILE: [&str; 12] = [
    "\"]; evil [label=\"",
    "\\\"]; evil [label=\"\\",
    "a\\",
    "</text></svg><script>alert(1)</script>",
    "' onload='alert(1)",
    "]]>&lt;!ENTITY x \"y\">&x;",
    "\"]\n  click e0 \"javascript:alert(1)\"",
    "%%{init: {\"securityLevel\": \"loose\"}}%%",
    "`**bold**` #quot; #34; &quot; <img src=x>",
    "\u{1b}[2J\u{0}\u{7}\r\n\t",
    "\u{202e}gnp.exe\u{2066}\u{feff}\u{200b}\u{fffe}",
    "end",
];

/// Everything that others write is in one place of the model.
fn named(text: &str) -> View {
    let found = |cause| Some(finding(cause, text));
    let exporters = vec![edge(text, 1, 0, found(Cause::AgentBehind))];
    let importers = vec![edge(text, 1, 0, found(Cause::NotGranted))];
    let mut service = service(text, text, exporters, importers);
    text.clone_into(&mut service.verdict);
    service.finding = found(Cause::HubAgentBehind);
    let mut member = member(text, "Joined");
    member.unseen = Some(text.to_owned());
    member.agent_version = Some(text.to_owned());
    of(vec![member], vec![service])
}

/// What gives a picture its structure: quotes, lines, tags and separators. A backslash takes the meaning of what follows it in DOT.
fn structure(format: Format, picture: &str) -> Vec<char> {
    let picture = match format {
        Format::Dot => picture.replace("\\\\", "").replace("\\\"", ""),
        _ => picture.to_owned(),
    };
    let mut inside = false;
    let mut found = Vec::new();
    for char in picture.chars() {
        let is_structure = match format {
            Format::Svg => matches!(char, '<' | '>' | '"' | '\''),
            _ => char == '"' || (!inside && !char.is_alphanumeric()),
        };
        inside ^= char == '"';
        if is_structure || char.is_control() {
            found.push(char);
        }
    }
    found
}

#[test]
fn what_others_wrote_changes_no_structure() {
    for (format, _) in PICTURES {
        let of = |text: &str| draw(format, &Drawing::of(&named(text), 50)).unwrap();
        let calm = structure(format, &of("web"));
        for text in HOSTILE {
            let picture = of(text);
            assert_eq!(structure(format, &picture), calm, "{format:?} {text:?}\n{picture}");
            assert!(!picture.contains(['\u{202e}', '\u{fffe}', '\u{1b}']), "{format:?} {text:?}");
        }
    }
}

/// Entities and directives of Mermaid are read before quotes are.
#[test]
fn mermaid_sees_no_directive_and_no_entity_of_others() {
    for text in HOSTILE {
        let picture = draw(Format::Mermaid, &Drawing::of(&named(text), 50)).unwrap();
        assert!(!picture.contains("%%") && !picture.contains("#quot;"), "{picture}");
        assert!(!picture.contains("<img") && !picture.contains('`'), "{picture}");
    }
}

#[test]
fn an_svg_needs_nothing_from_elsewhere() {
    let picture = draw(Format::Svg, &Drawing::of(&fleet(), 50)).unwrap();
    let others = picture.replace("http://www.w3.org/2000/svg", "");
    for word in ["http", "url(", "href", "<script", "@import", "<image"] {
        assert!(!others.contains(word), "{word}");
    }
}

#[test]
fn long_text_is_cut() {
    let text = "x".repeat(100_000);
    for (format, _) in PICTURES {
        let picture = draw(format, &Drawing::of(&named(&text), 50)).unwrap();
        assert!(picture.len() < 20_000, "{format:?}: {}", picture.len());
    }
}

#[test]
fn a_large_fleet_has_a_picture_that_is_bounded() {
    const MEMBERS: usize = 100;
    let name = |index: usize| format!("member-{:03}", index % MEMBERS);
    let services = (0..2000).map(|index| {
        let importers = (1..20).map(|step| edge(&name(index + step), 1, 0, None)).collect();
        let exporters = vec![edge(&name(index), 1, 0, None)];
        service(&format!("team-{:03}", index % 200), &format!("web-{index}"), exporters, importers)
    });
    let mut services: Vec<_> = services.collect();
    services
        .sort_by(|one, other| (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name)));
    let members = (0..MEMBERS).map(|index| member(&name(index), "Joined")).collect();
    let drawing = Drawing::of(&of(members, services), 50);
    assert_eq!((drawing.rows.len(), drawing.exporters.len()), (50, MEMBERS));
    assert!(drawing.exports.len() + drawing.imports.len() <= 2 * 50 * MEMBERS);
    let last = drawing.rows.last().unwrap();
    assert_eq!((&*last.label, &*last.note), ("151 other namespaces", "1510 Services"));
    for (format, _) in PICTURES {
        assert!(draw(format, &drawing).unwrap().len() < 3_000_000);
    }
}

/// A picture does not depend on anything but the fleet.
#[test]
fn the_same_fleet_is_the_same_picture() {
    for (format, _) in PICTURES {
        let of = || draw(format, &Drawing::of(&fleet(), 50));
        assert_eq!(of(), of());
    }
}
