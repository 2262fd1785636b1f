//! The files of the repository.

use std::path::{Path, PathBuf};

use crate::tree::Package;

/// Where the repository lies.
pub(crate) struct Repository {
    root: PathBuf,
    files: Vec<String>,
}

/// A file with text that people read.
pub(crate) struct Text {
    pub(crate) path: String,
    pub(crate) content: String,
}

impl Text {
    /// `rs`, `md`; nothing for a script.
    pub(crate) fn ending(&self) -> &str {
        self.path.rsplit_once('.').map_or("", |(_, ending)| ending)
    }
}

impl Repository {
    pub(crate) fn open() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
        let mut files = Vec::new();
        collect(&root, "", &mut files);
        files.sort();
        Self { root, files }
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap()
    }

    /// Paths of all files.
    pub(crate) fn files(&self) -> &[String] {
        &self.files
    }

    /// Writes a file that is no part of the repository.
    pub(crate) fn keep(&self, path: &str, content: &str) {
        std::fs::create_dir_all(self.root.join("target")).unwrap();
        std::fs::write(self.root.join(path), content).unwrap();
    }

    /// The packages, with the modules of their libraries and programs.
    pub(crate) fn sources(&self) -> Vec<Package> {
        let manifests = self.files.iter().filter_map(|file| file.strip_suffix("/Cargo.toml"));
        let read = |path: &str| std::fs::read_to_string(self.root.join(path)).ok();
        manifests
            .map(|folder| {
                let source = format!("{folder}/src/");
                let files = self.files.iter().filter_map(|file| file.strip_prefix(&source));
                let is_root =
                    |file: &&str| ["lib.rs", "main.rs"].contains(file) || file.starts_with("bin/");
                Package::read(folder, &files.filter(is_root).collect::<Vec<_>>(), &read)
            })
            .collect()
    }

    /// Code, charts, scripts and pages.
    pub(crate) fn texts(&self) -> Vec<Text> {
        let ends = [".rs", ".go", ".toml", ".yaml", ".tpl", ".txt", ".sh", ".md"];
        let known = |file: &&String| {
            let is_script = file.starts_with(".ci/") || *file == "Makefile";
            is_script || ends.iter().any(|end| file.ends_with(end))
        };
        let texts = self.files.iter().filter(known).filter(|file| !generated(file));
        texts.map(|path| Text { path: path.clone(), content: self.read(path) }).collect()
    }
}

/// Files whose text comes from other files, and this test, which names what it looks for.
fn generated(file: &str) -> bool {
    let parts =
        ["/golden/", "/files/crds/", "/files/external-workloads-crds/", "tests/architecture/"];
    parts.iter().any(|part| file.contains(part))
}

fn collect(root: &Path, folder: &str, files: &mut Vec<String>) {
    for entry in std::fs::read_dir(root.join(folder)).unwrap().map(Result::unwrap) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let hidden = name.starts_with('.') && name != ".ci" && name != ".github";
        if hidden || name == "target" {
            continue;
        }
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            collect(root, &path, files);
        } else if kind.is_file() {
            files.push(path);
        }
    }
}
