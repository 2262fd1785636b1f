//! What the terminal shows. Colours only there; a log gets the same words.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use super::text::{duration, wrap};

/// Longest line of running text.
const WIDTH: usize = 100;
/// Under the objects, where their meaning stands.
const MEANING_COLUMN: usize = 34;

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const GREEN: &str = "\x1b[32m";
const CYAN: &str = "\x1b[36m";
const YELLOW: &str = "\x1b[33m";
const RESET: &str = "\x1b[0m";

/// One line about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Since the user's action.
    pub(super) after: Duration,
    /// Since the line before.
    pub(super) hop: Duration,
    pub(super) cluster: String,
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) meaning: String,
}

/// Writes to stdout, or into a test's memory.
pub(super) struct Screen {
    out: Box<dyn Write>,
    colour: bool,
}

impl Screen {
    /// Stdout; in colour if it is a terminal that wants it (<https://no-color.org>).
    pub(super) fn stdout() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        let out = std::io::stdout();
        Self { colour: out.is_terminal() && !refused, out: Box::new(out) }
    }

    /// A heading and what the part under it is about.
    pub(super) fn chapter(&mut self, title: &str, about: &str) {
        let title = self.paint(BOLD, title);
        self.line(&format!("\n{title}"));
        for line in wrap(about, WIDTH - 2) {
            self.line(&format!("  {line}"));
        }
    }

    /// Something that is about to take a while.
    pub(super) fn step(&mut self, text: &str) {
        self.line(&format!("  {text} ..."));
    }

    /// What the user does, as a user would write it.
    pub(super) fn action(&mut self, cluster: &str, text: &str) {
        let text = self.paint(YELLOW, text);
        self.line(&format!("\n  {:>9}  {:>9}  {cluster:<9} {text}", "user", ""));
    }

    /// An object that appeared, changed or went.
    pub(super) fn row(&mut self, row: &Row) {
        let Row { after, hop, cluster, kind, name, meaning } = row;
        let hop = self.paint(DIM, &format!("{:>9}", format!("+{}", duration(*hop))));
        let kind = self.paint(CYAN, kind);
        let after = duration(*after);
        self.line(&format!("  {after:>9}  {hop}  {cluster:<9} {kind} {name}"));
        for line in wrap(meaning, WIDTH - MEANING_COLUMN) {
            let line = self.paint(DIM, &line);
            self.line(&format!("{:MEANING_COLUMN$}{line}", ""));
        }
    }

    /// What was reached, and after which time.
    pub(super) fn reached(&mut self, text: &str, after: Duration) {
        let after = duration(after);
        let text = self.paint(GREEN, &format!("  {after:>9}  {text}"));
        self.line(&text);
    }

    /// Plain text.
    pub(super) fn line(&mut self, text: &str) {
        // A reader that went away (`| head`) is no error of the demo.
        let _ = writeln!(self.out, "{text}");
        let _ = self.out.flush();
    }

    fn paint(&self, colour: &str, text: &str) -> String {
        if self.colour { format!("{colour}{text}{RESET}") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Vec<u8>>>);

    impl Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn shown(colour: bool) -> String {
        let memory = Memory::default();
        let mut screen = Screen { out: Box::new(memory.clone()), colour };
        screen.chapter("1  Title", "What it is about.");
        screen.row(&Row {
            after: Duration::from_micros(12_340),
            hop: Duration::from_micros(2_100),
            cluster: "hub".to_owned(),
            kind: "ServiceImport",
            name: "demo/web".to_owned(),
            meaning: "the Service of the fleet".to_owned(),
        });
        screen.reached("exported", Duration::from_millis(20));
        let bytes = memory.0.lock().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_log_gets_plain_text() {
        let text = shown(false);
        assert!(!text.contains('\x1b'));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "1  Title");
        assert_eq!(lines[3], "    12.3 ms    +2.1 ms  hub       ServiceImport demo/web");
        assert_eq!(lines[4].trim_start(), "the Service of the fleet");
    }

    #[test]
    fn colours_change_no_words() {
        let mut plain = shown(true);
        for code in [BOLD, DIM, GREEN, CYAN, YELLOW, RESET] {
            plain = plain.replace(code, "");
        }
        assert_eq!(plain, shown(false));
    }
}
