//! Tests of the test: what is broken on purpose is found, and what is right is not.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::references::Rows;
use crate::repository::Text;
use crate::tree::Package;
use crate::{allowed, attacks, circles, controllers, crates, passages, references, sizes, words};

fn package(folder: &str, files: &[(&str, &str)]) -> Package {
    let read = |path: &str| {
        let found = files.iter().find(|(file, _)| path == format!("{folder}/src/{file}"));
        found.map(|(_, text)| (*text).to_owned())
    };
    Package::read(folder, &["lib.rs"], &read)
}

fn text(path: &str, content: &str) -> Text {
    Text { path: path.to_owned(), content: content.to_owned() }
}

fn found(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|finding| format!("{} {}", finding.rule, finding.place)).collect()
}

const PAGE: &str = "<!-- modules -->
| `api/` | fleet-api | the wire | – | tokio |
| `agent/` | agent | an agent | api | – |
| `tool/` | tool | a tool | + agent | – |
| `e2e/` | fleet-e2e | tests | everything but tool | – |
<!-- /modules -->";

fn manifest(name: &str, normal: &[&str], dev: &[&str]) -> crates::Manifest {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    let folder = name.trim_start_matches("fleet-").to_owned();
    crates::Manifest { name: name.to_owned(), folder, normal: set(normal), dev: set(dev) }
}

fn workspace() -> Vec<crates::Manifest> {
    vec![
        manifest("fleet-api", &["serde"], &[]),
        manifest("agent", &["fleet-api", "tokio"], &[]),
        manifest("tool", &["fleet-api", "agent"], &[]),
        manifest("fleet-e2e", &["agent"], &[]),
    ]
}

#[test]
fn dependencies_are_those_of_the_table() {
    assert_eq!(crates::check(PAGE, &workspace()), []);
    let broken = [
        (0, manifest("fleet-api", &["tokio"], &[])),
        (0, manifest("fleet-api", &["agent"], &[])),
        (1, manifest("agent", &["fleet-api"], &["fleet-e2e"])),
        (1, manifest("agent", &["tool"], &[])),
        (2, manifest("fleet-new", &[], &[])),
        (3, manifest("fleet-e2e", &["tool"], &[])),
    ];
    for (at, manifest) in broken {
        let mut workspace = workspace();
        workspace[at] = manifest.clone();
        let rules = found(&crates::check(PAGE, &workspace));
        assert!(rules.contains(&format!("crate {}/Cargo.toml", manifest.folder)), "{manifest:?}");
    }
    let rules = found(&crates::check(PAGE, &workspace()[1..]));
    assert!(rules.contains(&"crate docs/architecture.md".to_owned()), "{rules:?}");
}

#[test]
fn a_circle_is_found_where_items_are_defined() {
    // `a` takes B through the re-export of its parent, `b` takes A by a path in its code.
    let lib = "mod a; mod b; pub use b::B;";
    let a = "use crate::{B, b as other}; pub struct A(B); fn f() { other::g() }";
    let b = "pub struct B; pub fn g() {} fn f() { let _ = crate::a::A; }";
    let circle = circles::check(&package("x", &[("lib.rs", lib), ("a.rs", a), ("b.rs", b)]));
    assert_eq!(found(&circle), ["circle x"], "{circle:?}");
    assert!(circle[0].what.contains("a.rs takes `B` from b.rs"), "{circle:?}");
    assert!(circle[0].what.contains("a.rs takes `g` from b.rs"), "{circle:?}");

    let in_tests = "pub struct B; pub fn g() {} #[cfg(test)] mod tests { use crate::a::A; }";
    let in_macro = "pub struct B; pub fn g() {} macro_rules! m { () => { $crate::a::A } }";
    let in_comment = "pub struct B; pub fn g() {} // crate::a::A\nconst S: &str = \"crate::a::A\";";
    for b in [in_tests, in_macro, in_comment] {
        let package = package("x", &[("lib.rs", lib), ("a.rs", a), ("b.rs", b)]);
        assert_eq!(circles::check(&package), [], "{b}");
    }
}

#[test]
fn a_child_takes_nothing_of_its_parent() {
    let files = |child| [("lib.rs", "mod a;"), ("a.rs", "mod b; pub struct A;"), ("a/b.rs", child)];
    let broken = circles::check(&package("x", &files("use super::A; pub struct B(A);")));
    assert_eq!(found(&broken), ["child x/src/a/b.rs"]);
    let fine = package("x", &files("use crate::a as parent; pub struct B;"));
    assert_eq!(circles::check(&fine), []);
}

#[test]
fn controllers_stand_side_by_side_with_pure_plans() {
    let lib = "mod app; mod ground; mod export; mod import;";
    let app = "use crate::import::ImportController;";
    let import = "mod wire; pub struct ImportController; impl Controller for ImportController {}";
    let check = |ground: &str, export: &str| {
        let export = format!("pub struct E; impl Controller for E {{}} {export}");
        let files =
            [("lib.rs", lib), ("app.rs", app), ("ground.rs", ground), ("export.rs", &export)];
        let rest = [("import.rs", import), ("import/wire.rs", "pub fn send() {}")];
        let package = package("x-agent", &[&files[..], &rest[..]].concat());
        found(&controllers::check(&package, "| x `export`, `import` | decides |"))
    };
    assert_eq!(check("use std::sync::Mutex;", "use crate::ground; use std::sync::Arc;"), [""; 0]);
    assert_eq!(
        check("", "fn f() { crate::import::wire::send() }"),
        ["controller x-agent/src/export.rs"]
    );
    assert_eq!(check("use crate::import::wire::send;", ""), ["controller x-agent/src/ground.rs"]);
    for impure in
        ["std::{fmt, sync::Mutex}", "tokio::time", "kube::{Api, Client}", "std::time::Instant"]
    {
        let plans = check("", &format!("use {impure};"));
        assert!(plans.contains(&"plan x-agent/src/export.rs".to_owned()), "{impure}");
    }
    let lonely = package("x-agent", &[("lib.rs", "impl Controller for C {}")]);
    assert_eq!(found(&controllers::check(&lonely, "")), ["controller docs/architecture.md"]);
    assert_eq!(check("", "use kube::core::ObjectMeta; use std::time::Duration;"), [""; 0]);
    assert_eq!(check("", "fn f() { tracing::info!(\"text\") }"), ["plan x-agent/src/export.rs"]);
}

#[test]
fn what_is_cited_exists() {
    let pages = [
        text("docs/design/contract.md", "# Cases\n\n| MCS-1 | a row |\n| EW-D1 | a row |\n"),
        text("docs/design/invariants.md", "| S01 | a row |\n| S03 | a row |"),
        text("docs/design/rules.md", "## Visible rejections"),
    ];
    let rows = Rows::new(&pages, vec!["api/src/lib.rs".to_owned(), "api/src/port.rs".to_owned()]);
    let check = |comment: &str| {
        let file = text("x.rs", &format!("{comment}\nfn f() {{}}"));
        references::check(&file.path, &passages::of(&file), &rows).len()
    };
    let fine = [
        "/// MCS-1: a case; EW-D1; S01-S03, (S01).",
        "// As docs/design/rules.md#visible-rejections has it; see docs/design/contract.md.",
        "// See `api/src/`, `api/src/{lib,port}.rs` and `api/src/*.rs`.",
        "// UTF-8, SHA-256, `{S9}`, 404: not served, http://x/S9",
    ];
    for comment in fine {
        assert_eq!(check(comment), 0, "{comment}");
    }
    let broken = [
        "/// MCS-2: a case.",
        "// (S04)",
        "// S01-S04",
        "/// A comment whose second line\n/// cites EW-7.",
        "// docs/design/rules.md#names",
        "// docs/design/none.md",
        "// `api/src/none.rs`",
        "// `api/src/{lib,none}.rs`",
        "/// 12, 13: two cases.",
        "/* 97 to 99: three. */",
    ];
    for comment in broken {
        assert_eq!(check(comment), 1, "{comment}");
    }
}

#[test]
fn texts_keep_to_the_words() {
    let check =
        |path: &str, content: &str| words::check(path, &passages::of(&text(path, content))).len();
    let fine = [
        (
            "x.rs",
            "// A quota that has room. RFC 9562 section 5.8. The home directory.\nlet room = wish();",
        ),
        ("tests/x.rs", "let text = \"nobody\";"),
        ("x.yaml", "room: 1"),
        ("x.md", "A specification designs ruled sections."),
    ];
    for (path, content) in fine {
        assert_eq!(check(path, content), 0, "{content}");
    }
    let broken = [
        ("x.rs", "/// The room of the export."),
        ("x.rs", "// It is let\n// go."),
        ("x.rs", "let text = \"Nobody exports it\";"),
        ("x.rs", concat!("// See design ", "3a.")),
        ("x.rs", concat!("// (design ", "rule 6)")),
        ("x.rs", concat!("// (spec ", "section four)")),
        ("x.rs", "// As section 3.8 has it."),
        ("x.rs", "// (reliability C6)"),
        ("x.yaml", "a: 1 # whoever asks"),
        ("x.md", "Both rooms wait."),
    ];
    for (path, content) in broken {
        assert_eq!(check(path, content), 1, "{content}");
    }
}

#[test]
fn the_list_allows_what_is_there_and_nothing_else() {
    let findings = [Finding::new("word", "e2e/src/x.rs:1", "\"wish\"", "a decision")];
    assert_eq!(allowed::judge("word e2e/ \"wish\" # for now", &findings), [""; 0]);
    assert_eq!(allowed::judge("word e2e/ *", &findings), [""; 0]);
    assert_eq!(allowed::judge("", &findings).len(), 1);
    assert_eq!(allowed::judge("word api/ *", &findings).len(), 2);
    assert_eq!(allowed::judge("word e2e/ *", &[]).len(), 1);
}

#[test]
fn an_attack_is_shown_by_a_test_that_exists() {
    let file = |path: &str| {
        let content = "fn held() {}\nadd(\"a::named\", named);\n  each: EXPORT;\n";
        (path == "e2e/x.rs").then(|| content.to_owned())
    };
    let check = |row: &str| {
        let page = format!("## What was tried\n\n| by | shown by |\n|---|---|\n{row}\n\n## Next\n");
        attacks::check(attacks::TABLES[0], &page, &file).len()
    };
    for fine in [
        "`held` in `e2e/x.rs`",
        "`named` in `e2e/x.rs`",
        "`each` in `e2e/x.rs`",
        "`held` in `e2e/x.rs`; `named` in `e2e/x.rs`",
    ] {
        assert_eq!(check(&format!("| user | {fine} |")), 0, "{fine}");
    }
    for broken in [
        "`hel` in `e2e/x.rs`",
        "`held` in `e2e/y.rs`",
        "`held`",
        "`` in `e2e/x.rs`",
        "`held` in `e2e/x.rs`; `hel` in `e2e/x.rs`",
        "by nothing",
    ] {
        assert_eq!(check(&format!("| user | {broken} |")), 1, "{broken}");
    }
    assert_eq!(check(""), 1, "no table");
}

#[test]
fn a_long_file_of_code_is_found() {
    for (path, lines, is_found) in
        [("a.rs", sizes::LINES, false), ("a.rs", sizes::LINES + 1, true), ("a.md", 5000, false)]
    {
        let found = sizes::check(&text(path, &"\n".repeat(lines)));
        assert_eq!(found.is_some(), is_found, "{path} of {lines} lines");
    }
}
