//! The last release: its agents, built once from the commit of this repository, and its charts.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::binaries::{cache_root, lock_folder};
use crate::edition::Edition;
use crate::process::{find_in_path, spawn_bound};
use anyhow::{Context, Result, bail, ensure};

/// The version that fleets are upgraded from.
pub const VERSION: &str = "0.1.0";
const COMMIT: &str = "1748163";

const PROGRAMS: [&str; 2] = ["hub-agent", "member-agent"];

/// The profile of `make demo`, which the release itself may lack: it compiles fastest from nothing.
const PROFILE: [&str; 4] = [
    "profile.demo.inherits=\"dev\"",
    "profile.demo.debug=false",
    "profile.demo.incremental=false",
    "profile.demo.package.\"*\".opt-level=0",
];

/// The release, built first if need be: some minutes, once per commit. Progress goes to stderr.
///
/// Blocks; call it where that is allowed.
pub fn released() -> Result<Edition> {
    let folder = cache_root()?.join(format!("agents-{VERSION}-{COMMIT}"));
    let _lock = lock_folder(&folder)?;
    let source = folder.join("source");
    if !PROGRAMS.iter().all(|name| folder.join(name).is_file()) {
        eprintln!("Building the agents of {VERSION} ({COMMIT}): some minutes, only this once");
        let begin = Instant::now();
        check_out(&source)?;
        build(&source, &folder)?;
        eprintln!("The agents of {VERSION} are built, in {} s", begin.elapsed().as_secs());
    }
    let charts = source.join("charts");
    Ok(Edition { name: format!("{VERSION} ({COMMIT})"), programs: folder, charts })
}

/// Writes the files of the commit to a folder.
fn check_out(source: &Path) -> Result<()> {
    // Its top: an archive is of the folder that git is called in.
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(&repository).args(arguments);
        command
    };
    let commit = format!("{COMMIT}^{{tree}}");
    let found = git(&["cat-file", "-e", &commit]).stderr(Stdio::null()).status();
    if !found.context("run git")?.success() {
        bail!("commit {COMMIT} ({VERSION}) is not in this clone; `git fetch --unshallow` gets it");
    }
    let _ = fs::remove_dir_all(source);
    fs::create_dir_all(source)?;
    let mut archive = git(&["archive", &commit]).stdout(Stdio::piped()).spawn()?;
    let files = archive.stdout.take().context("git's output")?;
    let unpacked = Command::new("tar").arg("-xC").arg(source).stdin(files).status();
    ensure!(unpacked.context("run tar")?.success(), "tar cannot unpack the commit");
    ensure!(archive.wait()?.success(), "git cannot archive the commit");
    Ok(())
}

/// Builds the agents and keeps nothing of the build but these.
fn build(source: &Path, folder: &Path) -> Result<()> {
    let cargo = std::env::var_os("CARGO").map(PathBuf::from).or_else(|| find_in_path("cargo"));
    let cargo = cargo.context("cargo is not on PATH")?;
    let target = folder.join("target");
    let mut arguments = vec!["build", "--locked", "--profile", "demo"];
    arguments.extend(PROFILE.iter().flat_map(|setting| ["--config", setting]));
    arguments.extend(PROGRAMS.iter().flat_map(|name| ["--package", name]));
    let arguments: Vec<_> = arguments.into_iter().map(Into::into).collect();
    let log_path = folder.join("build.log");
    let log = File::create(&log_path)?;
    let mut child = spawn_bound(&cargo, &arguments, |command| {
        command.current_dir(source).env("CARGO_TARGET_DIR", &target).stderr(log);
    })?;
    let status = child.wait()?;
    ensure!(
        status.success(),
        "the build failed ({status}); its output is in {}",
        log_path.display()
    );
    for name in PROGRAMS {
        fs::rename(target.join("demo").join(name), folder.join(name))?;
    }
    Ok(fs::remove_dir_all(&target)?)
}
