//! What is wrong, where, and how to put it right.

use std::fmt::{Display, Formatter, Result};

/// One violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// `crate`, `circle`, `child`, `controller`, `plan`, `reference`, `size` or `word`.
    pub(crate) rule: &'static str,
    /// A file of the repository, a folder, or a file with a line.
    pub(crate) place: String,
    /// What was found there.
    pub(crate) what: String,
    /// What to change.
    pub(crate) remedy: String,
}

impl Finding {
    pub(crate) fn new(
        rule: &'static str,
        place: &str,
        what: impl Into<String>,
        remedy: &str,
    ) -> Self {
        Self { rule, place: place.to_owned(), what: what.into(), remedy: remedy.to_owned() }
    }
}

impl Display for Finding {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} {}: {} — {}", self.rule, self.place, self.what, self.remedy)
    }
}

/// One line each.
pub(crate) fn lines(findings: &[Finding]) -> String {
    findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
