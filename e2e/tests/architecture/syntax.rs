//! What a module declares, imports and names, read from its tokens.

use std::collections::BTreeSet;

use crate::lexer::{Kind, Token, tokens};

/// A module, without what is compiled for tests only.
#[derive(Debug, Default)]
pub(crate) struct Module {
    /// Modules with a file of their own.
    pub(crate) children: Vec<String>,
    /// Modules within this file.
    pub(crate) inline: Vec<(String, Module)>,
    /// Names of its items.
    pub(crate) items: BTreeSet<String>,
    /// Names of its macros, which are items too.
    pub(crate) macros: BTreeSet<String>,
    /// Names of the traits that it implements for its types.
    pub(crate) implements: BTreeSet<String>,
    /// What its `use` declarations import.
    pub(crate) uses: Vec<Use>,
    /// Paths of at least two parts that its code names, and single names.
    pub(crate) paths: Vec<Path>,
}

/// One branch of a `use` tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) path: Vec<String>,
    /// The name that it gets here; `*` for all.
    pub(crate) alias: String,
    /// It is exported too.
    pub(crate) public: bool,
    pub(crate) line: usize,
}

/// A path in the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) path: Vec<String>,
    pub(crate) line: usize,
}

/// Reads a file.
pub(crate) fn module(file: &str) -> Module {
    let code: Vec<_> =
        tokens(file).into_iter().filter(|token| token.kind != Kind::Comment).collect();
    read(&without_tests(&code))
}

/// Leaves out items with an attribute `cfg` that names `test` or `testing`.
pub(crate) fn without_tests(code: &[Token]) -> Vec<Token> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < code.len() {
        if is(code, at, "#") && is(code, at + 1, "[") && is(code, at + 2, "cfg") {
            let end = closing(code, at + 1);
            let inside = &code[at..end];
            let tests = inside.iter().any(|token| token.text == "test" || token.text == "testing");
            if tests && !inside.iter().any(|token| token.text == "not") {
                at = item_end(code, end);
                continue;
            }
        }
        kept.push(code[at].clone());
        at += 1;
    }
    kept
}

/// Where the item ends that starts at `at`, its attributes included.
fn item_end(code: &[Token], mut at: usize) -> usize {
    while at < code.len() {
        match code[at].text.as_str() {
            ";" | "," if code[at].kind == Kind::Sign => return at + 1,
            "{" => return closing(code, at),
            "(" | "[" => at = closing(code, at),
            _ => at += 1,
        }
    }
    at
}

/// Where the bracket at `at` is closed, and one further.
fn closing(code: &[Token], at: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, token) in
        code[at..].iter().enumerate().filter(|(_, token)| token.kind == Kind::Sign)
    {
        match token.text.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + offset + 1;
        }
    }
    code.len()
}

fn is(code: &[Token], at: usize, text: &str) -> bool {
    code.get(at).is_some_and(|token| token.kind != Kind::Text && token.text == text)
}

fn read(code: &[Token]) -> Module {
    let mut module = Module::default();
    let mut depth = 0_usize;
    let mut at = 0;
    while at < code.len() {
        let name = code.get(at + 1).map(|token| token.text.clone()).unwrap_or_default();
        match code[at].text.as_str() {
            _ if code[at].kind == Kind::Text => {}
            "mod" if is(code, at + 2, ";") => module.children.push(name),
            "mod" if is(code, at + 2, "{") => {
                let end = closing(code, at + 2);
                module.inline.push((name, read(&code[at + 3..end - 1])));
                at = end;
                continue;
            }
            "use" => {
                let end = at + code[at..].iter().position(|token| token.text == ";").unwrap_or(0);
                let public = at > 0 && (is(code, at - 1, "pub") || is(code, at - 1, ")"));
                for (path, alias) in branches(&code[at + 1..end]) {
                    module.uses.push(Use { path, alias, public, line: code[at].line });
                }
                at = end + 1;
                continue;
            }
            "struct" | "enum" | "trait" | "type" | "fn" | "const" | "static" | "union"
                if depth == 0 =>
            {
                module.items.insert(name);
            }
            "macro_rules" => {
                module.macros.insert(code[at + 2].text.clone());
                module.items.insert(code[at + 2].text.clone());
                at = closing(code, at + 3);
                continue;
            }
            "for" if depth == 0 && at > 0 => {
                module.implements.insert(code[at - 1].text.clone());
            }
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        let length = path(code, at);
        if length > 0 {
            let parts = code[at..at + length].iter().step_by(2);
            let path = parts.map(|token| token.text.clone()).collect();
            module.paths.push(Path { path, line: code[at].line });
        }
        at += length.max(1);
    }
    module
}

/// How many tokens the path at `at` has; none for what `$crate` or a method call begins.
fn path(code: &[Token], at: usize) -> usize {
    let word = |at: usize| code.get(at).is_some_and(|token| token.kind == Kind::Word);
    let joined =
        at > 0 && (is(code, at - 1, "::") || is(code, at - 1, "$") || is(code, at - 1, "."));
    if joined || !word(at) {
        return 0;
    }
    let mut length = 1;
    while is(code, at + length, "::") && word(at + length + 1) {
        length += 2;
    }
    length
}

/// The branches of a `use` tree, each with the name that it gets.
pub(crate) fn branches(tree: &[Token]) -> Vec<(Vec<String>, String)> {
    let brace = tree.iter().position(|token| token.text == "{");
    if let Some(brace) = brace {
        let before: Vec<_> = words(&tree[..brace]);
        let inside = &tree[brace + 1..closing(tree, brace) - 1];
        let inner = split(inside).into_iter().flat_map(branches);
        return inner
            .map(|(path, alias)| {
                let own = path == ["self"];
                let alias = if own { before.last().cloned().unwrap_or_default() } else { alias };
                let path = if own { Vec::new() } else { path };
                (before.iter().cloned().chain(path).collect(), alias)
            })
            .collect();
    }
    let mut path = words(tree);
    let renamed = path.iter().position(|word| word == "as");
    let alias = path.last().cloned().unwrap_or_default();
    path.truncate(renamed.unwrap_or(path.len()));
    if path.is_empty() { Vec::new() } else { vec![(path, alias)] }
}

fn words(tree: &[Token]) -> Vec<String> {
    let words = tree.iter().filter(|token| token.text != "::");
    words.map(|token| token.text.clone()).collect()
}

/// Cuts at commas that are in no braces.
fn split(tree: &[Token]) -> Vec<&[Token]> {
    let mut depth = 0_usize;
    tree.split(|token| {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        depth == 0 && token.text == ","
    })
    .collect()
}
