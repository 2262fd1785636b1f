//! How answers are printed: formats, colours and exit codes.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde::Serialize;

/// Something stops, differs or did not happen.
pub(crate) const NO: u8 = 1;
/// The question could not be asked.
pub const UNASKED: u8 = 2;

/// How answers are printed.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// How to print an answer
    #[arg(short = 'o', long = "output", global = true, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Whether to colour text; `auto` does on a terminal, unless `NO_COLOR` is set
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto)]
    pub color: Colour,
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For people who want to know more
    Wide,
    /// For programs
    Json,
    /// For programs and people
    Yaml,
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Output {
    /// Colours as asked for.
    pub(crate) fn paint(self) -> Paint {
        let allowed = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Paint(match self.color {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => allowed && io::stdout().is_terminal(),
        })
    }
}

/// Colours text, or does not.
#[derive(Clone, Copy, Debug)]
pub struct Paint(pub bool);

impl Paint {
    fn ansi(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// All is well.
    pub fn good(self, text: &str) -> String {
        self.ansi("32", text)
    }

    /// Something is wrong.
    pub fn bad(self, text: &str) -> String {
        self.ansi("31", text)
    }

    /// Somebody should look.
    pub fn odd(self, text: &str) -> String {
        self.ansi("33", text)
    }

    /// A heading.
    pub fn bold(self, text: &str) -> String {
        self.ansi("1", text)
    }
}

/// An answer for programs; `None` if it is asked for as text.
///
/// # Errors
/// Never: answers have text keys.
pub fn data(format: Format, answer: &impl Serialize) -> Result<Option<String>> {
    Ok(match format {
        Format::Json => Some(serde_json::to_string_pretty(answer)? + "\n"),
        Format::Yaml => Some(serde_saphyr::to_string(answer)?),
        Format::Text | Format::Wide => None,
    })
}

/// 0 for yes.
pub(crate) fn answer(yes: bool) -> ExitCode {
    if yes { ExitCode::SUCCESS } else { ExitCode::from(NO) }
}

/// Prints to a reader who may have gone.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

/// Prints progress to standard error, where it is kept apart from the answer.
pub(crate) fn say(text: &str) {
    eprintln!("{text}");
}
