//! What a check has found, and what could not be read. Data only.

use std::fmt;

use serde::Serialize;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Level {
    /// Something does not work, or will not.
    Failure,
    /// It works, and an administrator should look at it.
    Warning,
    /// The check needs what could not be read.
    NotChecked,
    /// Good to know.
    Information,
    /// Nothing was found.
    Ok,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Failure => "failure",
            Self::Warning => "warning",
            Self::NotChecked => "not checked",
            Self::Information => "information",
            Self::Ok => "ok",
        })
    }
}

/// One finding of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// What is so, in one sentence.
    pub what: String,
    /// What to do.
    pub advice: Option<String>,
    /// The command that mends it, where one does and there is nothing to decide first.
    pub command: Option<String>,
}

impl Finding {
    /// With the command that mends it.
    #[must_use]
    pub fn mend(self, command: impl Into<String>) -> Self {
        Self { command: Some(command.into()), ..self }
    }

    /// With the command that mends it, or with what to do where there is none.
    #[must_use]
    pub fn mend_with(self, command: Result<String, String>) -> Self {
        match command {
            Ok(command) => self.mend(command),
            Err(advice) => Self { advice: Some(advice), ..self },
        }
    }

    /// Something that does not work.
    pub fn failure(what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(Level::Failure, what, Some(advice.into()))
    }

    /// Something to look at.
    pub fn warning(what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(Level::Warning, what, Some(advice.into()))
    }

    /// Something to know.
    pub fn information(what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(Level::Information, what, Some(advice.into()))
    }

    fn new(level: Level, what: impl Into<String>, advice: Option<String>) -> Self {
        Self { level, what: what.into(), advice, command: None }
    }
}

/// Why something could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The reason, which completes "not checked, because".
    pub reason: String,
    /// What to do.
    pub advice: Option<String>,
}

impl Unread {
    /// With the reason, and what to do.
    pub fn new(reason: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { reason: reason.into(), advice: Some(advice.into()) }
    }
}

impl From<Unread> for Finding {
    fn from(unread: Unread) -> Self {
        let what = format!("not checked, because {}", unread.reason);
        Self::new(Level::NotChecked, what, unread.advice)
    }
}

/// Something that was read, or the reason why it was not.
pub type Read<T> = Result<T, Unread>;

/// What a check has found; nothing if all is well.
pub type Outcome = Read<Vec<Finding>>;

/// What was read, for a check that cannot do without.
///
/// # Errors
/// The reason why it was not read.
pub fn known<T>(read: &Read<T>) -> Read<&T> {
    read.as_ref().map_err(Clone::clone)
}
