//! Whether an agent serves the standard API.

use std::fmt;
use std::str::FromStr;

/// Whether an agent serves the API of multicluster.x-k8s.io.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It reads and writes nothing for it. What it once wrote stays.
    #[default]
    Off,
    /// It takes back what it wrote.
    CleanUp,
    /// It serves the API.
    On,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 3] = [Self::Off, Self::CleanUp, Self::On];

    /// The value of the flag.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::CleanUp => "clean-up",
            Self::On => "on",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|mode| mode.as_str() == text);
        known.ok_or_else(|| format!("{text:?} is none of off, clean-up and on"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_reads_as_it_is_written() {
        for mode in Mode::ALL {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
        assert!("true".parse::<Mode>().is_err());
    }
}
