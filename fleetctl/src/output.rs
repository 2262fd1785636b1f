//! Formats, colours and exit codes of the output.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde::Serialize;

/// Exit code: a problem, a difference or a timeout.
pub(crate) const NO: u8 = 1;
/// Exit code: the command could not run.
pub const UNASKED: u8 = 2;

/// Form of the output.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// Output format
    #[arg(short = 'o', long = "output", global = true, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Coloured text; `auto` colours it on a terminal unless `NO_COLOR` is set
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto)]
    pub color: Colour,
}

/// The format of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text
    Text,
    /// Text with more columns
    Wide,
    /// JSON
    Json,
    /// YAML
    Yaml,
    /// Graphviz, for `graph`
    Dot,
    /// Mermaid, for `graph`
    Mermaid,
    /// SVG, for `graph`
    Svg,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal only
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Format {
    /// Whether it is a form of pictures.
    pub(crate) fn is_picture(self) -> bool {
        matches!(self, Self::Dot | Self::Mermaid | Self::Svg)
    }
}

impl Output {
    /// Colours as the arguments and the environment ask for.
    pub(crate) fn paint(self) -> Paint {
        let allowed = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Paint(match self.color {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => allowed && io::stdout().is_terminal(),
        })
    }
}

/// Adds colours to text, if enabled.
#[derive(Clone, Copy, Debug)]
pub struct Paint(pub bool);

impl Paint {
    fn ansi(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Text of a success.
    pub fn good(self, text: &str) -> String {
        self.ansi("32", text)
    }

    /// Text of a problem.
    pub fn bad(self, text: &str) -> String {
        self.ansi("31", text)
    }

    /// Text that needs attention.
    pub fn odd(self, text: &str) -> String {
        self.ansi("33", text)
    }

    /// A heading.
    pub fn bold(self, text: &str) -> String {
        self.ansi("1", text)
    }
}

/// The output as JSON or YAML; `None` for the text formats.
///
/// # Errors
/// Does not fail: all keys are strings.
pub fn data(format: Format, answer: &impl Serialize) -> Result<Option<String>> {
    Ok(match format {
        Format::Json => Some(serde_json::to_string_pretty(answer)? + "\n"),
        Format::Yaml => Some(serde_saphyr::to_string(answer)?),
        Format::Text | Format::Wide | Format::Dot | Format::Mermaid | Format::Svg => None,
    })
}

/// The exit code 0 for `true`, otherwise 1.
pub(crate) fn answer(yes: bool) -> ExitCode {
    if yes { ExitCode::SUCCESS } else { ExitCode::from(NO) }
}

/// Prints to standard output; a closed pipe is no error.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

/// Prints progress to standard error, separate from the output.
pub(crate) fn report(text: &str) {
    eprintln!("{text}");
}
