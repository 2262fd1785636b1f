//! The rules of axe-core about pages that everybody can use. It comes from its package, once, into the cache.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tokio::process::Command;

use crate::browser::Browser;

/// Its release.
const VERSION: &str = "4.10.3";
/// Of its `axe.min.js`: the package is fetched, and the browser runs it.
const SHA256: &str = "880970c081707360e64f34cea25ff91892f5bc95675b0776925b9709dd8a68bb";

/// What the page violates, as `rule: elements`.
pub(crate) async fn violations(browser: &Browser) -> Result<Vec<String>> {
    browser.run(&script().await?).await?;
    let found = browser
        .run_async("const done = arguments[0]; axe.run(document).then(done, (error) => done(String(error)))")
        .await?;
    let violations = found["violations"].as_array().with_context(|| format!("axe: {found}"))?;
    ensure!(
        found["passes"].as_array().is_some_and(|passes| !passes.is_empty()),
        "it looked at nothing"
    );
    let one = |violation: &Value| {
        let nodes = violation["nodes"].as_array().into_iter().flatten();
        let nodes: Vec<_> = nodes.map(|node| node["html"].to_string()).take(3).collect();
        format!("{}: {}", violation["id"], nodes.join(" "))
    };
    Ok(violations.iter().map(one).collect())
}

async fn script() -> Result<String> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    let folder = cache.context("no cache folder")?.join(format!("fleet-e2e/axe-core-{VERSION}"));
    let file = folder.join("axe.min.js");
    if !file.exists() {
        let made = tempfile(&folder)?;
        let run = |program: &str, arguments: &[&str]| {
            let mut command = Command::new(program);
            command.args(arguments).current_dir(&made);
            command
        };
        let package = format!("axe-core@{VERSION}");
        let packed = run("npm", &["pack", "--silent", &package]).output().await.context("npm")?;
        ensure!(packed.status.success(), "npm pack: {}", String::from_utf8_lossy(&packed.stderr));
        let archive = format!("axe-core-{VERSION}.tgz");
        let wanted = "package/axe.min.js";
        let taken = run("tar", &["xzf", &archive, "--strip-components=1", wanted]).status().await?;
        ensure!(taken.success(), "tar: no {wanted} in {archive}");
        std::fs::create_dir_all(&folder)?;
        std::fs::rename(made.join("axe.min.js"), &file)?;
        std::fs::remove_dir_all(&made)?;
    }
    let summed = Command::new("sha256sum").arg(&file).output().await.context("sha256sum")?;
    let is_pinned = summed.stdout.starts_with(SHA256.as_bytes());
    ensure!(is_pinned, "{} is not that of axe-core {VERSION}: remove it", file.display());
    Ok(std::fs::read_to_string(file)?)
}

fn tempfile(folder: &std::path::Path) -> Result<PathBuf> {
    let made = folder.with_extension(format!("{}.part", std::process::id()));
    std::fs::create_dir_all(&made)?;
    Ok(made)
}
