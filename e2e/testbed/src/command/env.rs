//! `fleet-testbed env`.

use anyhow::{Result, bail};
use clap::Args;

use super::common::{Named, print};

#[derive(Debug, Args)]
pub(super) struct Env {
    /// A cluster (`hub`, `member-1`) or an agent (`hub-agent`, `member-1-agent`).
    target: String,
    #[command(flatten)]
    named: Named,
}

impl Env {
    pub(super) fn run(&self) -> Result<()> {
        let description = self.named.describe()?;
        let variables = description.environment_of(&self.target);
        let Some(variables) = variables else {
            bail!("{} is none of: {}", self.target, description.targets().join(", "));
        };
        let lines = variables.iter().map(|(name, value)| export_line(name, value));
        print(&lines.collect::<String>())
    }
}

/// A line for a POSIX shell: in single quotes nothing but the quote itself is special.
fn export_line(name: &str, value: &str) -> String {
    format!("export {name}='{}'\n", value.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_for_the_shell() {
        assert_eq!(export_line("A", "b c$d"), "export A='b c$d'\n");
        assert_eq!(export_line("A", "it's"), "export A='it'\\''s'\n");
    }
}
