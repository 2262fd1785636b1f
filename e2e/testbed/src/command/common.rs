//! What the subcommands share: which fleet they are about, and their output.

use anyhow::Result;
use clap::Args;

use crate::description::Description;
use crate::state;

/// Which fleet a command is about.
#[derive(Clone, Debug, Args)]
pub(super) struct Named {
    /// Name of the fleet.
    #[arg(long, default_value = "default", env = "FLEET_TESTBED_NAME", value_parser = fleet_name)]
    pub(super) name: String,
}

impl Named {
    /// What the running fleet of this name wrote about itself.
    pub(super) fn describe(&self) -> Result<Description> {
        Description::read(&state::root()?.join(&self.name))
    }
}

/// Names become folder names and must not leave the run folder.
fn fleet_name(text: &str) -> Result<String, String> {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if text.is_empty() || !text.chars().all(legal) {
        return Err("use letters, digits, - and _".to_owned());
    }
    Ok(text.to_owned())
}

/// Writes to stdout; a reader that went away (`| head`) is no error.
pub(super) fn print(text: &str) -> Result<()> {
    use std::io::Write;
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_the_run_folder() {
        assert!(fleet_name("demo-1").is_ok());
        for name in ["", "..", "a/b", "/etc"] {
            assert!(fleet_name(name).is_err(), "{name}");
        }
    }
}
