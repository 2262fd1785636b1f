//! `fleet-load` with the libraries that it loads, in a folder that Pods mount.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use fleet_testbed::agent::find_program;
use serde_json::{Value, json};

const NAME: &str = "fleet-load";
/// Name in the folder of what loads libraries.
const LOADER: &str = "loader";
const IN_POD: &str = "/load";

/// The program.
#[derive(Clone, Debug)]
pub struct Program {
    folder: PathBuf,
    path: PathBuf,
}

impl Program {
    /// Copies the program and its libraries into a folder.
    pub fn place(folder: PathBuf) -> Result<Self> {
        let path = find_program(NAME)?;
        fs::copy(&path, folder.join(NAME))?;
        let ran = Command::new("ldd").arg(&path).output().context("start ldd")?;
        ensure!(ran.status.success(), "ldd: {}", String::from_utf8_lossy(&ran.stderr));
        for (library, name) in libraries(&String::from_utf8_lossy(&ran.stdout)) {
            let to = folder.join(&name);
            fs::copy(&library, &to).with_context(|| format!("copy {}", library.display()))?;
        }
        ensure!(folder.join(LOADER).is_file(), "{NAME} has no loader");
        Ok(Self { folder, path })
    }

    /// Where it is on this machine.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The volume of Pods that run it.
    pub(crate) fn volume(&self) -> Value {
        json!({ "name": NAME, "hostPath": { "path": self.folder, "type": "Directory" } })
    }

    /// Where containers mount it.
    pub(crate) fn mount() -> Value {
        json!({ "name": NAME, "mountPath": IN_POD, "readOnly": true })
    }

    /// What a container runs.
    pub(crate) fn command_in_pod(verb: &str) -> Value {
        let in_pod = |name: &str| format!("{IN_POD}/{name}");
        json!([in_pod(LOADER), "--library-path", IN_POD, in_pod(NAME), verb])
    }
}

/// What ldd names, and the name that each gets.
fn libraries(text: &str) -> Vec<(PathBuf, String)> {
    let library = |line: &str| {
        let (name, path) = match line.split_once(" => ") {
            Some((name, path)) => (name.trim(), path),
            // By its whole path: what loads the others.
            None => (LOADER, line),
        };
        let path = path.split_whitespace().next().filter(|path| path.starts_with('/'))?;
        Some((PathBuf::from(path), name.to_owned()))
    };
    text.lines().filter_map(library).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_is_what_has_no_other_name() {
        let text = "\tlinux-vdso.so.1 (0x1)\n\tlibc.so.6 => /lib/libc.so.6 (0x2)\n\t/lib64/ld-linux.so.2 (0x3)\n";
        let found = libraries(text);
        let pair = |path: &str, name: &str| (PathBuf::from(path), name.to_owned());
        assert_eq!(
            found,
            [pair("/lib/libc.so.6", "libc.so.6"), pair("/lib64/ld-linux.so.2", LOADER)]
        );
    }
}
