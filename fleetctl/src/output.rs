//! Formats, colours and exit codes of the output.

pub(crate) mod terminal;

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde::Serialize;
use terminal::{BOLD, GREEN, OFF, RED, YELLOW};

use crate::yaml;

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
    /// Whether programs read it.
    pub(crate) fn is_data(self) -> bool {
        matches!(self, Self::Json | Self::Yaml)
    }

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

/// Adds colours to a line of text, if enabled. Whatever others wrote in it, it is one line.
#[derive(Clone, Copy, Debug)]
pub struct Paint(pub bool);

impl Paint {
    fn ansi(self, colour: &str, text: &str) -> String {
        let text = terminal::line(text);
        if self.0 { format!("{colour}{text}{OFF}") } else { text.into_owned() }
    }

    /// Text of a success.
    pub fn good(self, text: &str) -> String {
        self.ansi(GREEN, text)
    }

    /// Text of a problem.
    pub fn bad(self, text: &str) -> String {
        self.ansi(RED, text)
    }

    /// Text that needs attention.
    pub fn odd(self, text: &str) -> String {
        self.ansi(YELLOW, text)
    }

    /// A heading.
    pub fn bold(self, text: &str) -> String {
        self.ansi(BOLD, text)
    }
}

/// The output as JSON or YAML; `None` for the text formats.
///
/// # Errors
/// Does not fail: all keys are strings.
pub fn data(format: Format, answer: &impl Serialize) -> Result<Option<String>> {
    let json = || Ok::<_, serde_json::Error>(serde_json::to_string_pretty(answer)? + "\n");
    Ok(match format {
        Format::Json => Some(terminal::json(&json()?).into_owned()),
        Format::Yaml => {
            let text = yaml::write(answer)?;
            // JSON is YAML, and can escape every character everywhere.
            Some(if terminal::is_inert(&text) {
                text
            } else {
                terminal::json(&json()?).into_owned()
            })
        }
        Format::Text | Format::Wide | Format::Dot | Format::Mermaid | Format::Svg => None,
    })
}

/// The same in one line or document, for one of many answers.
///
/// # Errors
/// Does not fail: all keys are strings.
pub(crate) fn next_data(format: Format, answer: &impl Serialize) -> Result<Option<String>> {
    Ok(match format {
        Format::Json => Some(terminal::json(&(serde_json::to_string(answer)? + "\n")).into_owned()),
        _ => data(format, answer)?.map(|document| format!("---\n{document}")),
    })
}

/// The exit code 0 for `true`, otherwise 1.
pub(crate) fn answer(yes: bool) -> ExitCode {
    if yes { ExitCode::SUCCESS } else { ExitCode::from(NO) }
}

/// Prints to standard output; a closed pipe is no error.
pub(crate) fn print(text: &str) -> Result<()> {
    write(&terminal::block(text))
}

fn write(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

/// Prints a file to standard output: to a program as it is.
pub(crate) fn print_file(text: &str) -> Result<()> {
    if io::stdout().is_terminal() { print(text) } else { write(text) }
}

/// Prints progress or an error to standard error, separate from the output.
pub fn report(text: &str) {
    eprintln!("{}", terminal::block(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_read_back_whatever_others_wrote() {
        for answer in [["a\u{1b}[2J\nb\u{9b}\u{202e}c"], ["für"]] {
            for format in [Format::Json, Format::Yaml] {
                for text in [data(format, &answer), next_data(format, &answer)] {
                    let text = text.unwrap().unwrap();
                    assert!(terminal::is_inert(&text), "{text:?}");
                    assert_eq!(terminal::block(&text), text);
                    let read: [String; 1] = serde_saphyr::from_str(&text).unwrap();
                    assert_eq!(read, answer);
                }
            }
        }
    }
}
