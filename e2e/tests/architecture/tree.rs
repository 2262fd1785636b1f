//! The files of a package as modules, and where the items that they name are defined.

use std::collections::{BTreeMap, BTreeSet};

use crate::syntax::{self, Module, Use};

/// One package of the workspace.
#[derive(Debug, Default)]
pub(crate) struct Package {
    /// Its folder in the repository.
    pub(crate) folder: String,
    modules: BTreeMap<Vec<String>, Placed>,
}

#[derive(Debug)]
struct Placed {
    file: String,
    module: Module,
}

/// A file takes an item of another file of its package.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Import {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) item: String,
    pub(crate) line: usize,
}

/// A path as the code has it, with imports expanded: `kube::Api`, `std::time::Instant`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Named {
    pub(crate) file: String,
    pub(crate) path: Vec<String>,
    pub(crate) line: usize,
}

impl Package {
    /// Reads the modules from each of `roots` on; `file` has the text of a path in the repository.
    pub(crate) fn read(
        folder: &str,
        roots: &[&str],
        file: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let mut package = Self { folder: folder.to_owned(), ..Self::default() };
        for root in roots {
            let path = format!("{folder}/src/{root}");
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
            // Programs beside the library are crates of their own.
            let name = if *root == "lib.rs" { vec![] } else { vec![format!("<{root}>")] };
            package.add(name, &path, &folder, file);
        }
        package
    }

    fn add(
        &mut self,
        name: Vec<String>,
        path: &str,
        folder: &str,
        file: &dyn Fn(&str) -> Option<String>,
    ) {
        let Some(text) = file(path) else { return };
        self.place(name, path, folder, syntax::module(&text), file);
    }

    fn place(
        &mut self,
        name: Vec<String>,
        path: &str,
        folder: &str,
        mut module: Module,
        file: &dyn Fn(&str) -> Option<String>,
    ) {
        let named = |child: &str| [name.clone(), vec![child.to_owned()]].concat();
        for child in &module.children {
            let child_folder = format!("{folder}/{child}");
            self.add(named(child), &format!("{child_folder}.rs"), &child_folder, file);
        }
        for (child, inner) in std::mem::take(&mut module.inline) {
            self.place(named(&child), path, &format!("{folder}/{child}"), inner, file);
        }
        self.modules.insert(name, Placed { file: path.to_owned(), module });
    }

    /// Files that implement this trait for a type.
    pub(crate) fn implementing(&self, name: &str) -> BTreeSet<&str> {
        let placed = self.modules.values().filter(|placed| placed.module.implements.contains(name));
        placed.map(|placed| placed.file.as_str()).collect()
    }

    /// What files take of each other, by where it is defined.
    pub(crate) fn imports(&self) -> Vec<Import> {
        let mut imports = BTreeMap::new();
        for (name, placed) in &self.modules {
            let paths = placed.module.paths.iter().map(|path| (&path.path, path.line));
            let uses = placed.module.uses.iter().filter(|one| is_used(&placed.module, one));
            for (path, line) in paths.chain(uses.map(|one| (&one.path, one.line))) {
                let Some((file, item)) = self.find(name, path, 0) else { continue };
                if file != placed.file {
                    imports.entry((placed.file.clone(), file, item)).or_insert(line);
                }
            }
        }
        let import = |((from, to, item), line)| Import { from, to, item, line };
        imports.into_iter().map(import).collect()
    }

    /// All paths, with imports expanded.
    pub(crate) fn paths(&self) -> Vec<Named> {
        let mut all = Vec::new();
        for placed in self.modules.values() {
            let module = &placed.module;
            let named = |path: Vec<String>, line| Named { file: placed.file.clone(), path, line };
            all.extend(module.uses.iter().map(|one| named(one.path.clone(), one.line)));
            all.extend(module.paths.iter().map(|path| {
                let import = module.uses.iter().find(|one| one.alias == path.path[0]);
                let start = import.map_or(&path.path[..1], |import| &import.path);
                named([start, &path.path[1..]].concat(), path.line)
            }));
        }
        all
    }

    /// Where the item is defined that `path` names in the module `name`. Modules themselves are no items.
    fn find(&self, name: &[String], path: &[String], depth: usize) -> Option<(String, String)> {
        let (mut at, mut rest) = self.start(name, path)?;
        while let Some((first, others)) = rest.split_first() {
            let placed = self.modules.get(&at)?;
            let child = [at.clone(), vec![first.clone()]].concat();
            if self.modules.contains_key(&child) {
                (at, rest) = (child, others);
                continue;
            }
            let found = || Some((placed.file.clone(), first.clone()));
            if first == "*" || placed.module.items.contains(first) || depth > 20 {
                return found();
            }
            let through = |import: &Use, rest: &[String]| {
                self.find(&at, &[import.path.as_slice(), rest].concat(), depth + 1)
            };
            let uses = &placed.module.uses;
            if let Some(import) = uses.iter().find(|one| one.alias == *first) {
                return through(import, others);
            }
            let globs = uses.iter().filter(|one| one.alias == "*");
            let glob = globs.filter_map(|one| {
                let path = [&one.path[..one.path.len() - 1], rest].concat();
                let (file, item) = self.find(&at, &path, depth + 1)?;
                self.defines(&file, &item).then_some((file, item))
            });
            return glob.into_iter().next().or_else(|| self.macro_of(first)).or_else(found);
        }
        None
    }

    /// The module that a path starts from, and what is left of the path.
    fn start<'a>(
        &self,
        name: &[String],
        path: &'a [String],
    ) -> Option<(Vec<String>, &'a [String])> {
        let (first, rest) = path.split_first()?;
        let root = usize::from(name.first().is_some_and(|root| root.starts_with('<')));
        match first.as_str() {
            "crate" => Some((name[..root].to_vec(), rest)),
            "self" => Some((name.to_vec(), rest)),
            "super" => {
                let ups = path.iter().take_while(|part| *part == "super").count();
                Some((name[..name.len().checked_sub(ups)?].to_vec(), &path[ups..]))
            }
            first => {
                let module = &self.modules.get(name)?.module;
                let child = [name, &[first.to_owned()]].concat();
                let known = self.modules.contains_key(&child)
                    || module.uses.iter().any(|one| one.alias == first && one.path != path);
                (path.len() > 1 && known).then(|| (name.to_vec(), path))
            }
        }
    }

    fn defines(&self, file: &str, item: &str) -> bool {
        let mut here = self.modules.values().filter(|placed| placed.file == file);
        here.any(|placed| placed.module.items.contains(item))
    }

    /// An exported macro is named at the root of its crate.
    fn macro_of(&self, name: &str) -> Option<(String, String)> {
        let mut all = self.modules.values();
        let placed = all.find(|placed| placed.module.macros.contains(name))?;
        Some((placed.file.clone(), name.to_owned()))
    }
}

/// A mere re-export is no import.
fn is_used(module: &Module, import: &Use) -> bool {
    !import.public || module.paths.iter().any(|path| path.path[0] == import.alias)
}
