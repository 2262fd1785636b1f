//! The commands in the README and the docs, run as a reader would run them, page after page, on one testbed. See
//! [`page`] for what a page can set about that, and `before/` for what pages take for granted.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "clippy takes only #[test] functions for tests"
)]

mod looks_like;
mod page;
mod shell;
mod stage;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use fleet_testbed::go_module::{KUBECTL, KUBECTL_OLDEST, Program};

use page::{Block, Content, blocks};
use shell::Shell;
use stage::Stage;

/// In the order in which they are run: each begins with what the one before has left.
const PAGES: [&str; 9] = [
    "README.md",
    "docs/upgrade.md",
    "docs/external-workloads.md",
    "docs/troubleshooting.md",
    "docs/recovery.md",
    "docs/operations.md",
    "docs/by-hand.md",
    "docs/migration.md",
    "docs/charts.md",
];
/// Pages whose commands need clusters with more than these pages have (`e2e/tests/virtual_node` runs them), or a registry and a key
/// (`e2e/tests/supply_chain/published.rs`).
const ELSEWHERE: [&str; 2] = ["docs/virtual-nodes.md", "docs/release.md"];
/// Has clusters of its own, and is run beside the page that waits most, for namespaces to go.
const APART: &str = "e2e/README.md";
const BESIDE: &str = "docs/operations.md";

#[tokio::test(flavor = "multi_thread")]
async fn commands_of_the_pages_work() {
    play(&KUBECTL).await;
}

/// `make docs-oldest`: all commands once more cost as much as half of the scenarios.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "all pages once more, which takes minutes: make docs-oldest"]
async fn commands_of_the_pages_work_with_the_oldest_kubectl() {
    play(&KUBECTL_OLDEST).await;
}

/// Runs all pages with this `kubectl`.
async fn play(kubectl: &'static Program) {
    let stage = Stage::start(kubectl).await.unwrap();
    let result = tokio::select! {
        result = all_pages(&stage) => result,
        () = stage.nodes() => unreachable!("kubelets do not end"),
    };
    if let Err(error) = result {
        panic!("{error:#}\nlogs are kept in {}", stage.logs().display());
    }
}

async fn all_pages(stage: &Stage) -> Result<()> {
    for page in PAGES {
        let apart = async { if page == BESIDE { whole_page(stage, APART).await } else { Ok(()) } };
        tokio::try_join!(whole_page(stage, page), apart)?;
    }
    Ok(())
}

async fn whole_page(stage: &Stage, page: &str) -> Result<()> {
    let text = stage.with_addresses(&std::fs::read_to_string(root().join(page))?);
    let mut shell = stage.shell(page)?;
    if let Some(before) = before(page) {
        let before = stage.with_addresses(&before);
        shell.script(&before).await.with_context(|| format!("before {page}"))?;
    }
    let mut count = 0;
    for Block { line, content } in blocks(&text)? {
        let begin = Instant::now();
        if let Content::Excused(reason) = content {
            eprintln!("{page}:{line}: not run: {reason}");
            continue;
        }
        let done = run(&mut shell, content).await;
        done.with_context(|| format!("{page}, the block at line {line}"))?;
        eprintln!("{page}:{line}: {:.1?}", begin.elapsed());
        count += 1;
    }
    ensure!(count > 0, "nothing of {page} was run");
    Ok(())
}

async fn run(shell: &mut Shell, content: Content) -> Result<()> {
    match content {
        Content::Excused(_) => Ok(()),
        Content::Script(commands) => shell.script(&commands).await,
        Content::Transcript(commands) => {
            for (command, shown) in commands {
                let printed = shell.command(&command).await?;
                if let Some(missing) = looks_like::missing(&shown, &printed) {
                    anyhow::bail!("{command}\n--- prints:\n{printed}\n--- and not: {missing}");
                }
            }
            Ok(())
        }
    }
}

/// What a page takes for granted, and the page before has not left.
fn before(page: &str) -> Option<String> {
    let name = Path::new(page).with_extension("sh");
    let folder = root().join("e2e/tests/docs/before");
    std::fs::read_to_string(folder.join(name.file_name()?)).ok()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn no_page_with_commands_is_left_out() {
    let docs = std::fs::read_dir(root().join("docs")).unwrap().map(Result::unwrap);
    let pages = docs.filter(|entry| entry.path().is_file());
    let docs = pages.map(|entry| format!("docs/{}", entry.file_name().to_string_lossy()));
    let all = docs.chain(["README.md".to_owned(), APART.to_owned()]);
    let with_commands: BTreeSet<_> = all
        .filter(|page| {
            let text = std::fs::read_to_string(root().join(page)).unwrap();
            !blocks(&text).with_context(|| page.clone()).unwrap().is_empty()
        })
        .collect();
    let known = PAGES.into_iter().chain([APART]).chain(ELSEWHERE);
    let known = known.map(str::to_owned).collect::<BTreeSet<_>>();
    assert_eq!(known, with_commands);
}

/// kubectl 1.32 reads what begins with `{` as JSON, which a flow mapping of YAML is not.
#[test]
fn documents_are_block_yaml() {
    let docs = std::fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = docs.chain(["README.md", APART].map(|page| root().join(page)));
    let notes = ["hub-agent", "member-agent"]
        .map(|name| root().join(format!("charts/{name}/templates/NOTES.txt")));
    let scripts = ["up.sh", "traffic.sh"].map(|name| root().join("e2e/kind").join(name));
    let mut count = 0;
    for file in pages.filter(|path| path.is_file()).chain(notes).chain(scripts) {
        let text = std::fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_start();
            let is_flow =
                line.starts_with('{') && !line.starts_with("{{") && line.contains("kind:");
            assert!(!is_flow, "{}:{}: {line}", file.display(), number + 1);
            count += usize::from(line.starts_with("kind: "));
        }
    }
    assert!(count > 5, "only {count} documents are block YAML");
}
